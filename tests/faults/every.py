#!/usr/bin/env python3
"""every.py - every call of ours for memory or files in every verb fails once, in turn; so do SQLite's; and signals arrive at
each of them. Whatever happens the command must end by itself with the exit code of the contract, say one sentence, leave files
as they were (or, exit 0, exactly as without a fault), hold nothing, and keep a state file that can be taken up again.

    every.py build/tests/epiq_faults          some of each, evenly spaced: a few seconds
    every.py build/tests/epiq_faults long     more of them: two minutes
    every.py build/tests/epiq_faults all      all, which makes the table of docs/testing.md
    every.py build/tests/epiq_faults CASE CLASS HOW NUMBER   one, shown (the number of the case, then as in server.c)
"""
import collections
import json
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

from cases import CASES, DRAWN, THREADED, make_inputs

ALL = CASES + THREADED + DRAWN
MANY = 10**9
Outcome = collections.namedtuple("Outcome", "code killed calls held failed files out err")
CLASSES = ("memory", "file", "sqlite", "disk")
OLD = b"it was here before\n"
SENTENCE = "epiq: "
WARNING = "epiq: warning: "
# Our own calls of these would go by uncounted.
UNWRAPPED = """malloc calloc realloc reallocarray aligned_alloc posix_memalign memalign valloc strdup strndup asprintf vasprintf
getline getdelim open_memstream fmemopen scandir opendir fdopendir popen getcwd get_current_dir_name tmpfile tempnam open openat
creat fopen fdopen read readv pread write writev pwrite close fclose mkstemp mkostemp mkdtemp mkdir rename renameat link linkat symlink
fsync fdatasync ftruncate truncate mmap munmap stat fstat access posix_fallocate fallocate posix_spawn posix_spawnp fork system
waitpid inflateInit2_ sendfile copy_file_range getentropy getrandom __asprintf_chk __vasprintf_chk __read_chk
__pread_chk __open_2""".split()


class Server:
    """The command, with one command line, run as often as wanted."""

    def __init__(self, binary, case, given):
        self.case, self.given, self.work = case, given, tempfile.mkdtemp(dir=os.path.dirname(given))
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, EPIQ_FAULTS_FD=str(theirs.fileno()), OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="", LC_ALL="C", TERM="dumb")
        options = environment.get("ASAN_OPTIONS", "")
        environment["ASAN_OPTIONS"] = options + ":detect_leaks=0:allocator_may_return_null=1"  # what is held is counted
        self.process = subprocess.Popen([binary, *case.args], pass_fds=[theirs.fileno()], env=environment,
                                        stdin=subprocess.DEVNULL)
        theirs.close()
        self.channel, self.stream = ours, ours.makefile("r")

    def close(self):
        self.stream.close()
        self.channel.close()
        self.process.wait()
        shutil.rmtree(self.work)

    def run(self, plan, fresh=True):
        box = f"{self.work}/box"
        if fresh:
            shutil.rmtree(box, ignore_errors=True)
            os.mkdir(box)
            for name in self.case.inputs:
                (shutil.copyfile if name in self.case.keeps else os.link)(f"{self.given}/{name}", f"{box}/{name}")
            for name in self.case.old:
                open(f"{box}/{name}", "wb").write(OLD)
        source = f"{self.given}/{self.case.stdin}" if self.case.stdin else "/dev/null"
        self.channel.sendall(f"{box}\t{source}\t{self.work}/out\t{self.work}/err\t{plan}\n".encode())
        told = self.stream.readline().split(maxsplit=10)
        status = int(told[0])
        numbers = list(map(int, told[1:10]))
        return Outcome(os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                       os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                       dict(zip(CLASSES, numbers[:4])), numbers[4:], told[10].strip(), snapshot(box),
                       open(f"{self.work}/out", "rb").read(), open(f"{self.work}/err", errors="replace").read())


def snapshot(folder):
    found = {}
    for root, folders, names in os.walk(folder):
        inside = os.path.relpath(root, folder)
        for name in names:
            found[os.path.normpath(f"{inside}/{name}")] = open(f"{root}/{name}", "rb").read()
        for name in folders:
            found[os.path.normpath(f"{inside}/{name}/")] = None
    return found


def apart_from(files, keeps):
    return {name: text for name, text in files.items() if not any(name.startswith(k) for k in keeps)}


def whole_state(work, case):
    """A state file must be one whatever happened."""
    for name in case.keeps:
        path = f"{work}/box/{name}"
        if os.path.exists(path) and os.path.getsize(path):
            copy = f"{work}/copy"
            for end in ("", "-wal"):
                if os.path.exists(path + end):
                    shutil.copyfile(path + end, copy + end)
            with sqlite3.connect(copy) as db:
                verdict = db.execute("PRAGMA integrity_check").fetchone()[0]
            db.close()
            for end in ("", "-wal", "-shm"):
                if os.path.exists(copy + end):
                    os.remove(copy + end)
            if verdict != "ok":
                return f"the state file is damaged: {verdict}"
    return None


def same_answer(case, reference, now):
    """Taken up again: the numbers are those of the run without a fault."""
    if now.code != 0:
        return f"taken up again it exits {now.code}: {now.err.strip()}"
    text = lambda o: o.files.get("j.json", o.out)
    a, b = json.loads(text(reference))[case.says], json.loads(text(now))[case.says]
    return None if a == b else f"taken up again it has other {case.says}"


def problems(case, reference, before, o, plan):
    """All that is wrong with an outcome."""
    what, how, _ = plan.split()
    sig = int(how.rstrip("+")) if how.rstrip("+").isdigit() else 0
    found, out = apart_from(o.files, case.keeps), o.out
    lines = [line for line in o.err.splitlines() if not line.startswith(WARNING)]
    if o.killed and not (sig and o.killed == sig):
        return [f"killed by signal {o.killed}: {o.err.strip()[-2000:]}"]
    if o.killed:  # nobody listens yet or any more; nothing may show that it was there
        whole = found in (apart_from(before, case.keeps), apart_from(reference.files, case.keeps))
        changed = [] if whole else [f"files changed: {differences(before, o.files, case.keeps)}"]
        return changed + ([f"says {o.err!r}"] if lines and "+" not in how else [])
    wrong = []
    if o.code == 0 and o.failed == case.may_lack:
        pass
    elif o.code == 0:
        if found != apart_from(reference.files, case.keeps):
            wrong.append(f"exit 0 with other files: {differences(reference.files, o.files, case.keeps)}")
        if out != reference.out:
            wrong.append("exit 0 with another standard output")
        if lines:
            wrong.append(f"exit 0 and says {lines}")
    else:
        allowed = {128 + sig} if sig else {3} if what in ("memory", "sqlite") else {2, 3}
        if o.code not in allowed:
            wrong.append(f"exit {o.code}, not {sorted(allowed)}")
        if len(lines) != 1 or not lines[0].startswith(SENTENCE) or len(lines[0]) < len("epiq: stopped") or "Success" in lines[0]:
            wrong.append(f"not one sentence: {lines}")
        old = apart_from(before, case.keeps)
        late = o.failed == "rename" or "standard output" in o.err  # the text comes last: a pager that was closed costs no file
        new = apart_from(reference.files, case.keeps) if late else {}
        if any((n, t) not in old.items() and (n, t) not in new.items() for n, t in found.items()) or not old.keys() <= found.keys():
            wrong.append(f"files changed: {differences(before, o.files, case.keeps)}")
        told = sig == signal.SIGINT and b"stopped" in o.err.encode()  # what was finished is shown
        if not (out in (b"", reference.out) or (what == "file" and "standard output" in o.err) or told):
            wrong.append(f"{len(out)} of {len(reference.out)} bytes on standard output")
    kinds = ("blocks", "streams", "descriptors", "maps", "SQLite's blocks")
    for kind, held, usual in zip(kinds, o.held, reference.held):
        if held > usual:
            wrong.append(f"{held - usual} {kind} still held")
    return wrong


def differences(a, b, keeps):
    a, b = apart_from(a, keeps), apart_from(b, keeps)
    return sorted(n for n in a.keys() | b.keys() if a.get(n) != b.get(n) or (n in a) != (n in b))


def spread(count, most):
    """Numbers of calls, evenly spaced, the first and the last among them."""
    if count <= most:
        return range(1, count + 1)
    if most < 2:
        return range(1, most + 1)
    return sorted({1 + round(k * (count - 1) / (most - 1)) for k in range(most)})


class Judge:
    """One case, by a process of its own."""

    def __init__(self, binary, given, case):
        self.binary, self.given, self.case = binary, given, case
        self.failures, self.done = [], collections.Counter()

    def blame(self, plan, o, problem):
        self.failures.append(f"case {ALL.index(self.case)}, {plan} ({o.failed}): {problem}\n    epiq {' '.join(self.case.args)}\n"
                             f"    {o.err.strip()}")

    def one(self, reference, before, plan, again):
        o = self.server.run(plan)
        for problem in problems(self.case, reference, before, o, plan):
            self.blame(plan, o, problem)
        if self.case.keeps:
            problem = whole_state(self.server.work, self.case)
            if not problem and o.code != 0 and again:
                problem = same_answer(self.case, reference, self.server.run("none", fresh=False))
            if problem:
                self.blame(plan, o, problem)

    def all(self, plans):
        """plans: a class or signal, how, and in how many places at most."""
        self.server = Server(self.binary, self.case, self.given)
        reference, twice = self.server.run("none"), self.server.run("none")
        if reference.code != 0:
            self.blame("none", reference, f"exit {reference.code} without a fault")
        elif apart_from(reference.files, self.case.keeps) != apart_from(twice.files, self.case.keeps) or reference.out != twice.out:
            self.blame("none", twice, "another run gives other output")
        else:
            before = {name: OLD for name in self.case.old}
            before.update((name, open(f"{self.given}/{name}", "rb").read()) for name in self.case.inputs)
            for what, how, most in plans:
                count = sum(reference.calls.values()) if what == "any" else reference.calls[what]
                for turn, number in enumerate(spread(count, most)):
                    self.one(reference, before, f"{what} {how} {number}", turn % 4 == 0)
                    self.done[f"{what} {how}"] += 1
        self.server.close()
        return self


def judge_case(job):
    binary, given, number, plans = job
    judge = Judge(binary, given, ALL[number]).all(plans)
    return number, judge.failures, judge.done


def plans_for(number, size):
    """Where one case is to fail: at most so many places of each kind."""
    short, long = size == "short", size == "long"
    if number >= len(CASES + THREADED):
        return [("file", "once", 3 if short else 40 if long else MANY), ("any", "15", 2 if short else 20)]
    if number >= len(CASES):
        return [("memory", "once", 4 if short else 100 if long else MANY), ("any", "15", 2 if short else 30)]
    most = {"memory once": (12, 200), "memory rest": (3, 30), "file once": (12, 200), "file rest": (0, 20), "file eintr": (4, 100),
            "sqlite once": (4, 100), "sqlite rest": (0, 10), "disk once": (4, 100), "disk rest": (0, 10), "disk eintr": (0, 20),
            "any 15": (4, 30), "any 2": (3, 30), "any 15+": (3, 30)}
    return [(*name.split(), few if short else some if long else MANY) for name, (few, some) in most.items()]


def check_wrapped(binary):
    listed = subprocess.run(["nm", "-D", "--undefined-only", binary], capture_output=True, text=True, check=True).stdout
    called = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return [f"{name} is called but not counted; wrap it in tests/faults" for name in sorted(called.intersection(UNWRAPPED))]


def show(table):
    columns = list({k: None for row in table.values() for k in row})
    print("| verb | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for verb, row in table.items():
        print(f"| {verb} | " + " | ".join(str(row[k]) for k in columns) + " |")


def main():
    binary, *rest = sys.argv[1:]
    binary = os.path.abspath(binary)
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where fsync costs nothing
    with tempfile.TemporaryDirectory(dir=room) as work:
        given = f"{work}/given"
        os.mkdir(given)

        def run(args):
            subprocess.run([binary, *args.split()], cwd=given, check=True, stdout=subprocess.DEVNULL)

        make_inputs(given, run)
        if len(rest) == 4:
            server = Server(binary, ALL[int(rest[0])], given)
            print(server.run(" ".join(rest[1:]))._replace(files=None))
            server.close()
            return 0
        size = rest[0] if rest else "short"
        failures, table = check_wrapped(binary), collections.defaultdict(collections.Counter)
        draws = shutil.which("rsvg-convert")
        if not draws:
            print("SKIPPED: pictures as PNG: there is no rsvg-convert")
        numbers = [n for n in range(len(ALL)) if ALL[n] not in DRAWN or draws]
        jobs = [(binary, given, number, plans_for(number, size)) for number in numbers]
        with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
            for number, wrong, done in pool.imap(judge_case, jobs):
                failures += wrong
                if size != "short":
                    print(f"{sum(done.values()):6} {' '.join(ALL[number].args)[:100]}", flush=True)
                table[ALL[number].verb].update(done)
        for failure in failures:
            print("FAILED:", failure)
        if size != "short":
            show(table)
        print(f"{sum(sum(row.values()) for row in table.values())} faults, {len(failures)} not as they should be")
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
