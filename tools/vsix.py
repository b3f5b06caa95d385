"""Pack the VS Code extension: `make vsix`. A vsix is a zip with two more files; the extension needs no build step."""

import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).parent.parent
EXTENSION = ROOT / "editors" / "vscode"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of all files, so that the same input gives the same bytes."""
TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".vsixmanifest": "text/xml",
}


def build(source: Path, target: Path) -> Path:
    package = json.loads((source / "package.json").read_text())
    files = {f"extension/{file.name}": file.read_bytes() for file in sorted(source.iterdir()) if file.is_file()}
    files = {"extension.vsixmanifest": manifest(package).encode(), "[Content_Types].xml": types().encode(), **files}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name, LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return target


def manifest(package: dict[str, object]) -> str:
    identity = " ".join(
        f"{name}={quoteattr(str(value))}"
        for name, value in (
            ("Language", "en-US"),
            ("Id", package["name"]),
            ("Version", package["version"]),
            ("Publisher", package["publisher"]),
        )
    )
    engine = json.loads(json.dumps(package["engines"]))["vscode"]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity {identity}/>
    <DisplayName>{escape(str(package["displayName"]))}</DisplayName>
    <Description xml:space="preserve">{escape(str(package["description"]))}</Description>
    <Categories>{escape(",".join(json.loads(json.dumps(package["categories"]))))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(engine)}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def types() -> str:
    rows = "".join(f'<Default Extension="{suffix}" ContentType="{kind}"/>' for suffix, kind in TYPES.items())
    license = '<Override PartName="/extension/LICENSE" ContentType="text/plain"/>'
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{space}">{rows}{license}</Types>\n'


if __name__ == "__main__":
    sys.stdout.write(f"{build(EXTENSION, ROOT / 'out' / 'clawft.vsix').relative_to(ROOT)}\n")
