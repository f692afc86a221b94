/**
 * The script for PowerShell 7 and Windows PowerShell 5.1.
 *
 * PowerShell reads a word with commas as a list and completes only the last item. The program completes whole words. So
 * the script splits the line itself and removes from each candidate the part that PowerShell keeps. Before 7.3, PowerShell
 * passes an empty argument to a program only if it is written as two quotation marks.
 */
export const script = `# PowerShell completion of service-api

Register-ArgumentCompleter -Native -CommandName 'service-api' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $line = $commandAst.Extent.Text
    $length = $cursorPosition - $commandAst.Extent.StartOffset
    $line = $line.PadRight($length).Substring(0, $length)
    $found = [regex]::Matches($line, "(?:'[^']*'?|\`"[^\`"]*\`"?|[^\\s'\`"])+")
    $words = @($found | ForEach-Object { $_.Value })
    $isInWord = $found.Count -gt 0 -and $found[-1].Index + $found[-1].Length -eq $line.Length
    if (-not $isInWord) { $words += '' }
    $typed = $words[-1]
    $words = @($words | ForEach-Object { $_ -replace '[''"]', '' })

    # The number of characters that PowerShell keeps.
    $cut = 0
    if ($typed.Length -gt $wordToComplete.Length -and $typed.EndsWith($wordToComplete)) {
        $cut = $typed.Substring(0, $typed.Length - $wordToComplete.Length).Replace("'", '').Replace('"', '').Length
    }

    $arguments = @($words | Select-Object -Skip 1)
    $passing = Get-Variable -Name PSNativeCommandArgumentPassing -ValueOnly -ErrorAction Ignore
    if ($null -eq $passing -or $passing -eq 'Legacy') {
        $arguments = @($arguments | ForEach-Object { if ($_ -eq '') { '""' } else { $_ } })
    }
    $encoding = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [System.Text.UTF8Encoding]::new($false)
        $answer = @(& $commandAst.GetCommandName() '__complete' '--' $arguments 2> $null)
    } catch {
        $answer = @()
    } finally {
        [Console]::OutputEncoding = $encoding
    }

    # If the script returned nothing, PowerShell would complete paths.
    if ($answer.Count -eq 0) { return '' }
    if ($answer[-1] -match '^:(?:files|directories)\\t(.*)$') {
        $before = $Matches[1]
        if ($before.Length -le $cut) { return }
        $path = $words[-1].Substring($before.Length)
        return [System.Management.Automation.CompletionCompleters]::CompleteFilename($path) | ForEach-Object {
            $text = $before + $_.CompletionText.Trim("'")
            if ($text -match '[^\\w.,:=/\\\\~+-]') { $text = "'" + $text + "'" }
            [System.Management.Automation.CompletionResult]::new($text, $_.ListItemText, $_.ResultType, $_.ToolTip)
        }
    }
    if ($answer.Count -eq 1) { return '' }
    $answer[0..($answer.Count - 2)] | ForEach-Object {
        $word, $description = $_ -split "\`t", 2
        if (-not $description) { $description = $word }
        $text = $word.Substring([Math]::Min($cut, $word.Length))
        if ($text -match '[^\\w.,:=/+-]') { $text = "'" + $text.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $word, 'ParameterValue', $description)
    }
}
`;
