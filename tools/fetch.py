#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills .deps/ with what tools/dependencies.lock names. Started by tools/setup.

What is complete stays untouched: each archive leaves a list of its files in the folder it was
unpacked to, written last, so that an interrupted or damaged folder is seen and done again.
At the end .deps/cmake-arguments tells the build where things are.
"""
import argparse
import errno
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPS = ROOT / ".deps"
DOWNLOADS = DEPS / "download"
TORCH_VERSION = "2.11"
# The platform tags of the lock's files: pip is told them, so that it takes the same on any system.
GLIBC_TAGS = ["manylinux1", "manylinux2010", "manylinux2014"] + [
    f"manylinux_2_{minor}" for minor in (5, 12, 17, 18, 25, 27, 28)
]


class SetupError(Exception):
    """One sentence on what is wrong, one on what to do."""


def say(text):
    print(f"setup: {text}", file=sys.stderr, flush=True)


class Progress:
    """A counter that a terminal rewrites in place, and that a log gets a line of now and then."""

    def __init__(self, label, total):
        self.label, self.total, self.done = label, max(total, 1), 0
        self.live = sys.stderr.isatty()
        self.shown = time.monotonic()

    def add(self, count):
        self.done += count
        now = time.monotonic()
        if now - self.shown >= (0.1 if self.live else 5.0):
            self.shown = now
            self._show()

    def finish(self):
        self.done = self.total
        self._show()
        if self.live:
            print(file=sys.stderr)

    def _show(self):
        percent = 100 * self.done // self.total
        line = f"setup: {self.label}: {percent:3d} % of {self.total / 1e6:.0f} MB"
        print(f"\r{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)


class Package:
    """One archive of the lock file, for this machine."""

    def __init__(self, entry, archive):
        self.group = entry["group"]
        self.requirement = entry["requirement"]
        self.into = DEPS / entry["into"]
        self.keep = tuple(entry["keep"])
        self.strip = entry.get("strip", "")
        self.url = entry.get("url")
        self.bytes, self.sha256, self.file = archive["bytes"], archive["sha256"], archive["file"]
        self.download = DOWNLOADS / self.file
        self.stamp = self.into / ".complete" / self.file

    def complete(self):
        """Whether every file it was unpacked to is there, in its size."""
        try:
            sha256, *files = self.stamp.read_text().splitlines()
            if sha256 != self.sha256:
                return False
            for line in files:
                size, _, path = line.partition(" ")
                if os.stat(self.into / path).st_size != int(size):
                    return False
        except (OSError, ValueError):
            return False
        return True

    def place_of(self, member):
        """Where a file of the archive goes below `into`, or None if it is not kept."""
        kept = any(member.startswith(rule) if rule.endswith("/") else member == rule for rule in self.keep)
        if not kept or member.endswith("/"):
            return None
        place = pathlib.PurePosixPath(member.removeprefix(self.strip))
        if place.is_absolute() or ".." in place.parts:
            raise SetupError(f"{self.file} names a file outside its folder ({member}); the lock file must not list it.")
        return place


def read_lock(path, machine):
    packages = []
    for entry in tomllib.loads(path.read_text())["package"]:
        archive = entry.get(machine) or entry.get("any")
        if archive is None:
            raise SetupError(f"{entry['requirement']} has no build for {machine}; x86_64 and aarch64 are supported.")
        packages.append(Package(entry, archive))
    return packages


# ---- Fetching


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(package):
    """Leaves the archive in .deps/download/, checked. A file that fails the check is fetched once more."""
    for attempt in range(2):
        if not package.download.exists():
            say(f"fetching {package.requirement} ({package.bytes / 1e6:.1f} MB)")
            (fetch_by_url if package.url else fetch_by_pip)(package)
        if not package.download.exists():
            raise SetupError(f"The package index gave another file than {package.file} for {package.requirement}. "
                             "Point pip at PyPI or a full mirror of it (PIP_INDEX_URL), then type tools/setup again.")
        found = sha256_of(package.download)
        if found == package.sha256:
            return
        size = package.download.stat().st_size
        package.download.unlink()
        if attempt == 0:
            say(f"{package.file} is damaged ({size} bytes, SHA-256 {found[:12]}…, wanted {package.bytes} bytes, "
                f"{package.sha256[:12]}…); fetching it again")
    raise SetupError(f"{package.file} arrived twice with a wrong SHA-256 ({found}, wanted {package.sha256}). "
                     "Something between here and PyPI changes files; try another network or index (PIP_INDEX_URL).")


def fetch_by_pip(package):
    if subprocess.run([sys.executable, "-c", "import pip"], capture_output=True).returncode != 0:
        raise SetupError(f"{sys.executable} has no pip to fetch {package.requirement} with. "
                         "Type as root: apt-get install -y python3-pip")
    scratch = DOWNLOADS / "partial"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
               "--retries", "2", "--only-binary=:all:", "--implementation", "cp", "--python-version", "3.12", "--abi", "cp312",
               "--abi", "none", "--dest", str(scratch)]
    for tag in GLIBC_TAGS:
        command += ["--platform", f"{tag}_{platform.machine()}"]
    if not sys.stderr.isatty():
        command += ["--progress-bar", "off"]
    # pip's own temporary files go there too: the same disk, and cleaned up after an interruption.
    result = subprocess.run(command + [package.requirement], stdout=sys.stderr, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "TMPDIR": str(scratch)})
    if result.returncode != 0:
        raise SetupError(f"{package.requirement} could not be fetched from the package index ({reason(result.stderr)}). "
                         "Check the network (or PIP_INDEX_URL, HTTPS_PROXY), then type tools/setup again.")
    if (scratch / package.file).exists():
        os.replace(scratch / package.file, package.download)
    shutil.rmtree(scratch, ignore_errors=True)


def reason(pip_output):
    """What pip complained of, in a few words."""
    lines = [line.strip() for line in pip_output.splitlines() if line.strip()]
    for sign in ("No space left", "Failed to establish a new connection", "Temporary failure in name resolution",
                 "Connection refused", "CERTIFICATE_VERIFY_FAILED", "Read timed out"):
        if sign in pip_output:
            return sign.lower()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip gave no reason"])[-1].rstrip(".")


def fetch_by_url(package):
    import urllib.request  # here, since it is slow to load and seldom needed

    partial = DOWNLOADS / (package.file + ".partial")
    progress = Progress(package.file, package.bytes)
    try:
        with urllib.request.urlopen(package.url, timeout=60) as source, open(partial, "wb") as target:
            while block := source.read(1 << 18):
                target.write(block)
                progress.add(len(block))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise SetupError(f"{package.url} could not be fetched ({getattr(error, 'reason', error)}). "
                         "Check the network (or HTTPS_PROXY), then type tools/setup again.") from None
    progress.finish()
    os.replace(partial, package.download)


# ---- Unpacking


def members_of(package):
    """(name, size, mode, open) of each file to keep."""
    if package.file.endswith(".whl"):
        archive = zipfile.ZipFile(package.download)
        for info in archive.infolist():
            yield info.filename, info.file_size, info.external_attr >> 16, lambda info=info: archive.open(info)
    else:
        archive = tarfile.open(package.download)
        for info in archive:
            if info.isfile():
                yield info.name, info.size, info.mode, lambda info=info: archive.extractfile(info)


def unpack(package):
    """Unpacks beside the folder, then moves file by file: a half-written file never stands in its place."""
    scratch = DEPS / "unpacking"
    shutil.rmtree(scratch, ignore_errors=True)
    package.stamp.unlink(missing_ok=True)
    kept = []
    total = sum(size for name, size, _, _ in members_of(package) if package.place_of(name))
    progress = Progress(f"unpacking {package.requirement}", total)
    for name, size, mode, open_member in members_of(package):
        place = package.place_of(name)
        if place is None:
            continue
        target = scratch / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_member() as source, open(target, "wb") as file:
            while block := source.read(1 << 20):
                file.write(block)
                progress.add(len(block))
        if mode & 0o111:
            target.chmod(0o755)
        kept.append((size, place))
    progress.finish()
    if not kept:
        raise SetupError(f"{package.file} holds nothing of what the lock file wants of it; this is a fault of the lock file.")
    for _, place in kept:
        (package.into / place).parent.mkdir(parents=True, exist_ok=True)
        os.replace(scratch / place, package.into / place)
    shutil.rmtree(scratch)
    write_stamp(package, kept)
    package.download.unlink()


def write_stamp(package, kept):
    package.stamp.parent.mkdir(parents=True, exist_ok=True)
    partial = package.stamp.with_suffix(".partial")
    partial.write_text("".join([f"{package.sha256}\n", *(f"{size} {place}\n" for size, place in kept)]))
    os.sync()  # the files before the word that they are there
    os.replace(partial, package.stamp)


def check_space(packages):
    # Libraries shrink to about a third in a wheel.
    needed = sum(package.bytes * 3 + (0 if package.download.exists() else package.bytes) for package in packages)
    free = shutil.disk_usage(DEPS).free
    if free < needed:
        raise SetupError(f"{DEPS} needs about {needed / 1e9:.1f} GB and the disk has {free / 1e9:.1f} GB free. "
                         "Free some space, or give an existing LibTorch with LIBTORCH=/path, then type tools/setup again.")


# ---- What this machine needs


def version_of(libtorch):
    """Of a folder that holds include/ and lib/; None where it holds no LibTorch."""
    try:
        text = (libtorch / "include/torch/headeronly/version.h").read_text()
    except OSError:
        return None
    words = [line.split() for line in text.splitlines() if line.startswith("#define TORCH_VERSION_")]
    numbers = {word[1].removeprefix("TORCH_VERSION_"): word[2] for word in words if len(word) == 3}
    return ".".join(numbers.get(part, "?") for part in ("MAJOR", "MINOR", "PATCH"))


def given_libtorch():
    """A LibTorch of the right version that is there already, or None."""
    if path := os.environ.get("LIBTORCH"):
        version = version_of(pathlib.Path(path))
        if version is None or not (pathlib.Path(path) / "lib/libtorch_cpu.so").exists():
            raise SetupError(f"LIBTORCH={path} holds no LibTorch: include/ and lib/ are expected in it. "
                             "Give the folder that holds both, or unset LIBTORCH.")
        if not version.startswith(TORCH_VERSION + "."):
            raise SetupError(f"LIBTORCH={path} is LibTorch {version}; {TORCH_VERSION} is needed. "
                             f"Give a LibTorch {TORCH_VERSION}, or unset LIBTORCH.")
        return pathlib.Path(path).resolve()
    if (DEPS / "libtorch").is_symlink():
        return (DEPS / "libtorch/torch").resolve()
    return None


def python_libtorch(needs_cuda):
    """The torch that python3 would import, if it will do. It is looked at, not imported."""
    search = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    found = subprocess.run(["python3", "-c", search], capture_output=True, text=True).stdout.strip()
    if not found or not (version_of(pathlib.Path(found)) or "").startswith(TORCH_VERSION + "."):
        return None
    if needs_cuda and not (pathlib.Path(found) / "lib/libtorch_cuda.so").exists():
        return None
    return pathlib.Path(found)


def driver_found():
    if pathlib.Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        return True
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:" + os.environ.get("PATH", ""))
    return bool(ldconfig) and "libcuda.so.1" in subprocess.run([ldconfig, "-p"], capture_output=True, text=True).stdout


def has_nvcc():
    """Where cmake/MyxttsCuda.cmake looks for one."""
    folders = [os.environ.get("CUDACXX", ""), os.environ.get("CUDA_HOME", "") + "/bin", "/usr/local/cuda/bin"]
    return bool(shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), *folders])))


def cuda_wish():
    wish = os.environ.get("MYXTTS_CUDA", "AUTO").upper()
    if wish not in ("ON", "OFF", "AUTO"):
        raise SetupError(f"MYXTTS_CUDA={wish} is not one of ON, OFF and AUTO. Set it to one of them, or unset it.")
    return wish


def plan(extra_groups):
    """The groups to fetch, and what to tell CMake."""
    wish = cuda_wish()
    runs_cuda = wish == "ON" or (wish == "AUTO" and driver_found())
    groups = {"text", "sound", "format", "package", *extra_groups}
    arguments = [f"-DMYXTTS_CUDA={wish}"]

    libtorch = given_libtorch()
    if libtorch is None and not (DEPS / "libtorch/torch").exists():
        libtorch = python_libtorch(runs_cuda)
    if libtorch:
        arguments.append(f"-DMYXTTS_LIBTORCH={libtorch}")
    else:
        groups |= {"torch", "cuda"} if runs_cuda else {"torch"}

    if runs_cuda and not has_nvcc():
        # The compiler's wheels use the headers in those of the libraries.
        groups |= {"torch", "cuda", "nvcc"}
        arguments.append(f"-DMYXTTS_NVCC={DEPS}/libtorch/nvidia/cu13/bin/nvcc")
    return groups, arguments


def complete_toolkit(folder):
    """The names that nvcc and the linker look for; wheels cannot hold symbolic links."""
    links = {folder / "lib64": "lib"}
    for library in sorted((folder / "lib").glob("*.so.*")):
        links[library.with_name(library.name.partition(".so.")[0] + ".so")] = library.name
    for link, target in links.items():
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(target)


def write_arguments(arguments):
    """Only when they differ, so that the build is configured again when it must be and not otherwise."""
    path = DEPS / "cmake-arguments"
    text = "".join(f"{argument}\n" for argument in arguments)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(prog="tools/setup", description="Makes this checkout ready to build.")
    parser.add_argument("--with", dest="groups", action="append", default=[], choices=["cuda", "nvcc"],
                        help="also fetch this group of tools/dependencies.lock")
    options = parser.parse_args()
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    groups, arguments = plan(options.groups)
    packages = [package for package in read_lock(ROOT / "tools/dependencies.lock", platform.machine())
                if package.group in groups and not package.complete()]
    check_space(packages)
    for package in packages:
        fetch(package)
        unpack(package)
    if "nvcc" in groups:
        complete_toolkit(DEPS / "libtorch/nvidia/cu13")
    write_arguments(arguments)
    if packages:
        say("complete")


if __name__ == "__main__":
    try:
        main()
    except SetupError as error:
        sys.exit(f"setup: {error}")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            sys.exit(f"setup: The disk that holds {DEPS} is full. Free some space, then type tools/setup again.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            sys.exit(f"setup: {error.filename} cannot be written. Give this user the checkout, then type tools/setup again.")
        raise
    except KeyboardInterrupt:
        sys.exit("setup: Interrupted. Type tools/setup again to go on.")
