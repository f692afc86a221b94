# Installs service-api from a release on Windows, in Windows PowerShell 5.1 or PowerShell 7:
#
#   irm https://github.com/service-api/service-api/releases/latest/download/install.ps1 | iex
#
# The script verifies the archive's checksum before it unpacks the archive. It runs the new executable once before it
# replaces an installed version.
# Environment variables:
#   PREFIX                    the directory to install to (default: %LOCALAPPDATA%\Programs\service-api)
#   SERVICE_API_DOWNLOAD_URL  the URL of the directory with SHA256SUMS and the archives (default: the latest
#                             release on GitHub)
#
# The whole script is one block, so a truncated copy does nothing. On an error, the script throws. It does not exit,
# because `iex` runs the script in the user's session, which `exit` would close.
& {
    Set-StrictMode -Version 3.0
    $ErrorActionPreference = 'Stop'
    # The progress bar makes downloads in Windows PowerShell many times slower.
    $ProgressPreference = 'SilentlyContinue'

    function Save-Url([string] $Url, [string] $Path) {
        $limits = @{ TimeoutSec = 60 }
        if ((Get-Command Invoke-WebRequest).Parameters.ContainsKey('OperationTimeoutSeconds')) {
            $limits.OperationTimeoutSeconds = 60
        }
        try {
            $response = Invoke-WebRequest -Uri $Url -OutFile $Path -PassThru -UseBasicParsing @limits
        } catch {
            throw "Could not download ${Url}: $_"
        }
        # Windows PowerShell follows redirects from https to http. PowerShell 7 does not.
        $end = $response.BaseResponse
        $end = if ($end -is [Net.HttpWebResponse]) { $end.ResponseUri } else { $end.RequestMessage.RequestUri }
        if ($end.Scheme -ne ([uri] $Url).Scheme) {
            throw "Could not download ${Url}: the server redirected to $end, which has a different scheme."
        }
    }

    # Reads the variable of the machine, not of this process, which may be an x64 process on arm64. Only
    # Windows has this variable.
    $machine = [Environment]::GetEnvironmentVariable('PROCESSOR_ARCHITECTURE', 'Machine')
    if (-not $machine) { throw 'install.ps1 runs on Windows only. On Linux and macOS, use install.sh.' }
    $target = switch ($machine) {
        'AMD64' { 'x86_64-pc-windows-msvc' }
        'ARM64' { 'aarch64-pc-windows-msvc' }
        default { throw "There is no build for $machine processors. There are builds for x64 and arm64." }
    }

    $base = 'https://github.com/service-api/service-api/releases/latest/download'
    if ($env:SERVICE_API_DOWNLOAD_URL) { $base = $env:SERVICE_API_DOWNLOAD_URL.TrimEnd('/') }
    $uri = $base -as [uri]
    $allowed = $uri -and $uri.IsAbsoluteUri -and
        ($uri.Scheme -eq 'https' -or ($uri.Scheme -eq 'http' -and $uri.IsLoopback))
    if (-not $allowed) {
        throw "Cannot download from $base. Set SERVICE_API_DOWNLOAD_URL to an https:// URL. " +
            'http:// is allowed only for loopback addresses.'
    }

    $prefix = $env:PREFIX
    if (-not $prefix) { $prefix = Join-Path $env:LOCALAPPDATA 'Programs\service-api' }
    $prefix = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($prefix)
    $executable = Join-Path $prefix 'service-api.exe'
    $id = [guid]::NewGuid().ToString('N')
    $new = Join-Path $prefix "service-api.$id.exe"
    $old = Join-Path $prefix "service-api.$id.old"
    $tmp = Join-Path ([IO.Path]::GetTempPath()) "service-api.$id"
    $made = -not (Test-Path -LiteralPath $prefix)

    try {
        New-Item -ItemType Directory -Path $tmp | Out-Null
        $sums = Join-Path $tmp 'SHA256SUMS'
        Save-Url "$base/SHA256SUMS" $sums
        $pattern = "^[0-9a-f]{64}  service-api-[0-9][0-9A-Za-z.+-]*-$target\.zip$"
        $lines = @(Get-Content -LiteralPath $sums | Where-Object { $_ -cmatch $pattern })
        if ($lines.Count -ne 1) { throw "$base/SHA256SUMS lists $($lines.Count) archives for $target instead of one." }
        $sum, $name = $lines[0] -split '  '

        $archive = Join-Path $tmp $name
        Write-Host "Downloading $base/$name"
        Save-Url "$base/$name" $archive
        $actual = (Get-FileHash -LiteralPath $archive -Algorithm SHA256).Hash
        if ($actual -ne $sum) {
            throw "$name does not match SHA256SUMS and was not installed. Its SHA-256 is $actual, not $sum."
        }
        Expand-Archive -LiteralPath $archive -DestinationPath $tmp
        $folder = Join-Path $tmp ($name -replace '\.zip$')

        New-Item -ItemType Directory -Path $prefix -Force | Out-Null
        Copy-Item -LiteralPath (Join-Path $folder 'service-api.exe') -Destination $new
        $version = & $new --version
        if ($LASTEXITCODE -ne 0) {
            throw "The executable does not run on this system and was not installed: exit status $LASTEXITCODE."
        }
        foreach ($item in 'LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'completions') {
            Copy-Item -LiteralPath (Join-Path $folder $item) -Destination $prefix -Recurse -Force
        }
        # A running executable cannot be overwritten, but it can be renamed.
        if (Test-Path -LiteralPath $executable) { Move-Item -LiteralPath $executable -Destination $old }
        try {
            Move-Item -LiteralPath $new -Destination $executable
        } catch {
            if (Test-Path -LiteralPath $old) { Move-Item -LiteralPath $old -Destination $executable }
            throw
        }
    } finally {
        Remove-Item -LiteralPath $tmp, $new -Recurse -Force -ErrorAction SilentlyContinue
        # Windows cannot delete an old executable that is still running. The next installation deletes it.
        Get-ChildItem -LiteralPath $prefix -Filter 'service-api.*.old' -ErrorAction SilentlyContinue |
            Remove-Item -Force -ErrorAction SilentlyContinue
        if ($made -and -not (Test-Path -LiteralPath $executable)) {
            Remove-Item -LiteralPath $prefix -Recurse -Force -ErrorAction SilentlyContinue
        }
    }

    Write-Host "Installed $version in $prefix"
    if (($env:Path -split ';') -notcontains $prefix) {
        $quoted = $prefix -replace "'", "''"
        Write-Host 'This directory is not in your PATH. This command adds the directory for new sessions:'
        Write-Host ("  [Environment]::SetEnvironmentVariable('Path', " +
            "[Environment]::GetEnvironmentVariable('Path', 'User') + ';$quoted', 'User')")
    }
}
