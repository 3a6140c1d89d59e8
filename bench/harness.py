"""What the programs of this folder share: folders, the peers' virtual environment, programs that answer questions, and
whole processes timed. Standard library alone.
"""
import functools
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT, OUT, VENV = HERE.parent, HERE / "out", HERE / ".venv"
EPIQ = ROOT / "build" / "epiq"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def commit(folder):
    """That of this tree, or of which the programs in folder were made elsewhere (tools/gpu-carry)."""
    carried = folder / "commit"
    if carried.exists():
        return carried.read_text().strip()
    return subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                          check=False).stdout.strip()


@functools.cache
def environment():
    """The peers' virtual environment; None, or why there is none."""
    wanted = hashlib.sha256((HERE / "requirements.txt").read_bytes()).hexdigest()
    stamp = VENV / "requirements.sha256"
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    say("installing the peers (some 3 GB, minutes)")
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True, capture_output=True, text=True)
        subprocess.run([VENV / "bin/pip", "install", "-q", "--no-deps", "--no-cache-dir", "-r",
                        HERE / "requirements.txt"], check=True, capture_output=True, text=True)
    except (subprocess.CalledProcessError, OSError) as error:
        lines = [line for line in (getattr(error, "stderr", "") or str(error)).splitlines() if line.strip()]
        return "not installed: " + (lines[-1][:160] if lines else "pip failed")
    stamp.write_text(wanted)
    return None


class Contender:
    def __init__(self, command, missing=None, env=None):
        self.missing, self.process = missing, None
        if not missing:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE,
                                            stderr=open(OUT / "stderr.log", "a"), env=dict(os.environ, **(env or {})))

    def busy(self):
        """Seconds of processors it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __call__(self, *words):
        if not self.missing:
            try:
                before = self.busy()
                print(*words, file=self.process.stdin, flush=True)
                line = self.process.stdout.readline()
                if line:
                    return {**json.loads(line), "cpu": self.busy() - before}
            except BrokenPipeError:
                pass
            self.missing = f"{Path(self.process.args[0]).name} stopped at: {' '.join(map(str, words))[:80]}"
        return {"missing": self.missing}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def process(*words, env=None):
    """A whole process from start to exit: seconds, seconds of processors, and peak memory in bytes."""
    null = os.open(os.devnull, os.O_RDWR)
    start = time.perf_counter()
    pid = os.posix_spawn(words[0], [str(w) for w in words], dict(os.environ, **(env or {})),
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    os.close(null)
    if status:
        raise RuntimeError(f"exit {os.waitstatus_to_exitcode(status)}: {' '.join(map(str, words))}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "bytes": usage.ru_maxrss * 1024}
