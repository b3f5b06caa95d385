"""Small Rust projects for real cargo to build."""

import shutil
from pathlib import Path

import pytest

needs_cargo = pytest.mark.skipif(
    not shutil.which("cargo"), reason="no cargo here: real builds, tests, lints and publishing are NOT tested"
)

LIBRARY = """\
//! Sums.
/// Adds.
/// ```
/// assert_eq!(sums::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    let unused = 1;
    return a + b;
}
#[cfg(feature = "loud")]
pub fn shout() {}
#[cfg(test)]
mod tests {
    #[test]
    fn good() {
        assert_eq!(super::add(1, 2), 3);
    }
    #[test]
    fn bad() {
        println!("seen before");
        assert_eq!(super::add(1, 2), 4, "sums are hard");
    }
    #[test]
    #[ignore = "takes long"]
    fn later() {}
    #[test]
    #[should_panic]
    fn panics() {
        panic!()
    }
}
"""
HANGING_BUILD = r"""
use std::process::{id, Command};
fn main() {
    println!("cargo:rerun-if-changed=hang");
    if std::path::Path::new("hang").exists() {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        std::fs::write("pids.new", format!("{} {}", id(), child.id())).unwrap();
        std::fs::rename("pids.new", "pids").unwrap();
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
}
"""
"""A build script that, if asked to, starts a child and hangs."""

WAITING_BUILD = r"""
fn main() {
    std::fs::write("HERE/here", "").unwrap();
    while !std::path::Path::new("HERE/go").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
"""
"""One that says when it runs and waits to be let go."""


def crate(folder: Path, name: str, *, library: str = "", main: str = "", build: str = "", depends: str = "") -> Path:
    """A package without dependencies from outside."""
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\ndescription = "d"\nlicense = "MIT"\n'
        f"[features]\nloud = []\n[dependencies]\n{depends}\n"
    )
    for path, text in (("src/lib.rs", library), ("src/main.rs", main), ("build.rs", build)):
        if text:
            (folder / path).write_text(text)
    return folder


def project(folder: Path) -> Path:
    """A workspace of two: a library with a flaw of each kind, and a program that uses it."""
    (folder / "Cargo.toml").write_text('[workspace]\nmembers = ["sums", "app"]\nresolver = "2"\n')
    crate(folder / "sums", "sums", library=LIBRARY)
    main = 'fn main() {\n    println!("{}", sums::add(1, 2));\n}\n'
    crate(folder / "app", "app", main=main, depends='sums = { path = "../sums", version = "0.1.0" }')
    return folder
