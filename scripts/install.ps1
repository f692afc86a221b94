# Installs service-api from a release, on Windows, with Windows PowerShell 5.1 or PowerShell 7:
#
#   irm https://github.com/service-api/service-api/releases/latest/download/install.ps1 | iex
#
# A release is checked before it is unpacked, and run before it is put in place. Variables:
#   PREFIX                    the directory to install to; %LOCALAPPDATA%\Programs\service-api by default
#   SERVICE_API_DOWNLOAD_URL  where the release is; by default the newest
#
# All is in one block: a script that was cut off on its way does nothing. It throws and never exits, since `iex` runs
# it in the session of whoever calls it.
& {
    Set-StrictMode -Version 3.0
    $ErrorActionPreference = 'Stop'
    # Windows PowerShell takes many times as long to download when it draws how far it is.
    $ProgressPreference = 'SilentlyContinue'

    function Save-Url([string] $Url, [string] $Path) {
        $limits = @{ TimeoutSec = 60 }
        if ((Get-Command Invoke-WebRequest).Parameters.ContainsKey('OperationTimeoutSeconds')) {
            $limits.OperationTimeoutSeconds = 60
        }
        try {
            $response = Invoke-WebRequest -Uri $Url -OutFile $Path -PassThru -UseBasicParsing @limits
        } catch {
            throw "$Url could not be downloaded: $_"
        }
        # Windows PowerShell follows redirections from https to http, PowerShell 7 does not.
        $end = $response.BaseResponse
        $end = if ($end -is [Net.HttpWebResponse]) { $end.ResponseUri } else { $end.RequestMessage.RequestUri }
        if ($end.Scheme -ne ([uri] $Url).Scheme) { throw "$Url redirects to ${end}, which is not used." }
    }

    # What the machine is, whatever this process is made for: arm64 emulates x64. Only Windows knows this variable.
    $machine = [Environment]::GetEnvironmentVariable('PROCESSOR_ARCHITECTURE', 'Machine')
    if (-not $machine) { throw 'This is for Windows. For Linux and macOS there is install.sh.' }
    $target = switch ($machine) {
        'AMD64' { 'x86_64-pc-windows-msvc' }
        'ARM64' { 'aarch64-pc-windows-msvc' }
        default { throw "There is no build for the CPU ${machine}: there are those for x64 and arm64." }
    }

    $base = 'https://github.com/service-api/service-api/releases/latest/download'
    if ($env:SERVICE_API_DOWNLOAD_URL) { $base = $env:SERVICE_API_DOWNLOAD_URL.TrimEnd('/') }
    $uri = $base -as [uri]
    $allowed = $uri -and $uri.IsAbsoluteUri -and
        ($uri.Scheme -eq 'https' -or ($uri.Scheme -eq 'http' -and $uri.IsLoopback))
    if (-not $allowed) {
        throw "Nothing is downloaded from ${base}: let SERVICE_API_DOWNLOAD_URL begin with https:// " +
            '(plain http is for this machine alone).'
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
        if ($lines.Count -ne 1) { throw "$base/SHA256SUMS has $($lines.Count) archives for $target, in place of one." }
        $sum, $name = $lines[0] -split '  '

        $archive = Join-Path $tmp $name
        Write-Host "Downloading $base/$name"
        Save-Url "$base/$name" $archive
        $actual = (Get-FileHash -LiteralPath $archive -Algorithm SHA256).Hash
        if ($actual -ne $sum) {
            throw "$name is not what SHA256SUMS says, and has not been used: its SHA-256 is $actual, not $sum."
        }
        Expand-Archive -LiteralPath $archive -DestinationPath $tmp
        $folder = Join-Path $tmp ($name -replace '\.zip$')

        New-Item -ItemType Directory -Path $prefix -Force | Out-Null
        Copy-Item -LiteralPath (Join-Path $folder 'service-api.exe') -Destination $new
        $version = & $new --version
        if ($LASTEXITCODE -ne 0) {
            throw "The executable does not run on this system, and has not been installed: status $LASTEXITCODE."
        }
        foreach ($item in 'LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'completions') {
            Copy-Item -LiteralPath (Join-Path $folder $item) -Destination $prefix -Recurse -Force
        }
        # An executable that runs cannot be overwritten, but it can be given another name.
        if (Test-Path -LiteralPath $executable) { Move-Item -LiteralPath $executable -Destination $old }
        try {
            Move-Item -LiteralPath $new -Destination $executable
        } catch {
            if (Test-Path -LiteralPath $old) { Move-Item -LiteralPath $old -Destination $executable }
            throw
        }
    } finally {
        Remove-Item -LiteralPath $tmp, $new -Recurse -Force -ErrorAction SilentlyContinue
        # One that still runs stays until the next time.
        Get-ChildItem -LiteralPath $prefix -Filter 'service-api.*.old' -ErrorAction SilentlyContinue |
            Remove-Item -Force -ErrorAction SilentlyContinue
        if ($made -and -not (Test-Path -LiteralPath $executable)) {
            Remove-Item -LiteralPath $prefix -Recurse -Force -ErrorAction SilentlyContinue
        }
    }

    Write-Host "Installed $version in $prefix"
    if (($env:Path -split ';') -notcontains $prefix) {
        $quoted = $prefix -replace "'", "''"
        Write-Host 'which is not in your PATH. This adds it, for sessions to come:'
        Write-Host ("  [Environment]::SetEnvironmentVariable('Path', " +
            "[Environment]::GetEnvironmentVariable('Path', 'User') + ';$quoted', 'User')")
    }
}
