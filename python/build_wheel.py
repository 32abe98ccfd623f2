"""The build backend of pyproject.toml: CMake builds the module, and this file packs it with the package's own files.

    pip wheel . --no-build-isolation                                # needs no package index
    pip wheel . --no-build-isolation --config-settings build=build  # from a build folder that exists
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(ovde VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
PACKAGE = f"ovde-{VERSION}"
METADATA = f"""Metadata-Version: 2.1
Name: ovde
Version: {VERSION}
Summary: Noise-aware optimistic exploration for continuous control
License: MIT
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: gymnasium
Requires-Dist: gymnasium>=1.0; extra == "gymnasium"
"""


def _built_package(build: pathlib.Path) -> pathlib.Path:
    """Builds the target ovde_python and returns the folder of the finished package."""
    if not (build / "CMakeCache.txt").exists():
        switched_off = [f"-DOVDE_{part}=OFF" for part in ("TESTS", "BENCHMARKS", "CUDA")]
        subprocess.run(
            ["cmake", "-S", SOURCE, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DOVDE_UNITY=ON", "-Wno-dev",
             f"-DPython_EXECUTABLE={sys.executable}", *switched_off, *os.environ.get("CMAKE_ARGS", "").split()],
            check=True,
        )  # fmt: skip
    subprocess.run(["cmake", "--build", build, "--target", "ovde_python", "--parallel", str(os.cpu_count())], check=True)
    return build / "python" / "ovde"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _built_package(SOURCE / (config_settings or {}).get("build", "build-wheel"))
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    files = {f"ovde/{file.name}": file.read_bytes() for file in sorted(package.iterdir()) if file.is_file()}
    information = f"{PACKAGE}.dist-info"
    files[f"{information}/METADATA"] = METADATA.encode()
    files[f"{information}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ovde\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    for name in ("LICENSE", "THIRD_PARTY_LICENSES"):
        files[f"{information}/{name}"] = (SOURCE / name).read_bytes()
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    files[f"{information}/RECORD"] = "".join([*lines, f"{information}/RECORD,,\n"]).encode()
    wheel = f"{PACKAGE}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks."""
    names = subprocess.run(["git", "ls-files"], cwd=SOURCE, check=True, capture_output=True, text=True).stdout.split("\n")
    with tarfile.open(pathlib.Path(sdist_directory, f"{PACKAGE}.tar.gz"), "w:gz") as archive:
        for name in filter(None, names):
            archive.add(SOURCE / name, f"{PACKAGE}/{name}")
    return f"{PACKAGE}.tar.gz"
