# Installs trinity for this user, from the folder of a release:
#   ./install.ps1 -Address ADDRESS [-Folder FOLDER]
param([string]$Address = $(if ("<<.address>>") { "<<.address>>" } else { throw "name the address of a release: -Address" }), [string]$Folder = "$env:LOCALAPPDATA\Programs\trinity")
$ErrorActionPreference = "Stop"
$processor = switch ([System.Runtime.InteropServices.RuntimeInformation]::OSArchitecture) {
    "X64" { "amd64" }
    "Arm64" { "arm64" }
    default { throw "no binary for the processor $_; there are amd64 and arm64" }
}
$work = Join-Path ([System.IO.Path]::GetTempPath()) ([System.Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
try {
    Invoke-WebRequest -UseBasicParsing "$Address/SHA256SUMS" -OutFile "$work/sums"
    $line = Select-String -Path "$work/sums" -Pattern "  trinity-[^ ]*-windows-$processor\.zip$" | Select-Object -First 1
    if (-not $line) { throw "$Address has no archive for windows-$processor" }
    $sum, $archive = $line.Line -split "  "
    Invoke-WebRequest -UseBasicParsing "$Address/$archive" -OutFile "$work/$archive"
    if ((Get-FileHash "$work/$archive" -Algorithm SHA256).Hash.ToLower() -ne $sum) {
        throw "$archive does not have the checksum that SHA256SUMS states; nothing was installed"
    }
    Expand-Archive "$work/$archive" $work
    New-Item -ItemType Directory -Force $Folder | Out-Null
    Move-Item -Force "$work/$($archive -replace '\.zip$', '')/trinity.exe" "$Folder/trinity.exe"
} finally {
    Remove-Item -Recurse -Force $work
}
Write-Output "installed: $Folder\trinity.exe"
& "$Folder\trinity.exe" version
Write-Output "add the folder to PATH to call it by name; remove: Remove-Item -Recurse `"$Folder`""
