"""``raydebug install-plugin`` and ``remove-plugin``: the one file by which Ray finds us.

``pip install raydebug`` lays it down by itself. This is for Ray in another environment, and for editable installs,
which can't. Ray is located, never imported.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

MODULE = Path("ray/dashboard/modules/raydebug_module.py")
SOURCE = Path(__file__).resolve().parent.parent / "plugin" / "ray_module.py"
LOOK_UP = "import importlib.util as u; s = u.find_spec('ray'); print(s.origin or '' if s else '')"


class NoRay(click.ClickException):
    """Ray isn't where it should be. Exit code 1."""


@dataclass(frozen=True, kw_only=True)
class ModuleStatus:
    """``path``: where the file belongs; None where there is no Ray."""

    state: Literal["current", "missing", "differs", "no_ray"]
    path: Path | None
    detail: str


def site_of_interpreter(python: str | None = None) -> Path | None:
    """The folder that holds package ``ray`` of this interpreter, or of another one; None without Ray."""
    if python is None:
        spec = importlib.util.find_spec("ray")
        origin = spec.origin if spec else None
    else:
        try:
            done = subprocess.run([python, "-c", LOOK_UP], capture_output=True, text=True, timeout=60, cwd="/")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise click.BadParameter(f"{python} can't be run: {error}", param_hint="--python") from error
        if done.returncode != 0:
            raise click.BadParameter(f"{python} failed: {done.stderr.strip()[-300:]}", param_hint="--python")
        origin = done.stdout.strip()
    # Without Ray, our own module file makes `ray` a namespace package, which has no origin.
    return Path(origin).parent.parent if origin else None


def module_status(site: Path | None = None) -> ModuleStatus:
    """Whether Ray's dashboard and agents of this interpreter (or those in ``site``) load this raydebug's module."""
    site = site or site_of_interpreter()
    if site is None:
        return ModuleStatus(state="no_ray", path=None, detail="Ray isn't installed for this interpreter.")
    path = site / MODULE
    if not path.parent.is_dir():
        return ModuleStatus(
            state="no_ray", path=path, detail=f"{path.parent} doesn't exist: `pip install 'ray[default]'` there."
        )
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return ModuleStatus(state="missing", path=path, detail=f"{path} is missing: run `raydebug install-plugin`.")
    except OSError as error:
        return ModuleStatus(state="differs", path=path, detail=f"{path} can't be read: {error.strerror}.")
    if found != SOURCE.read_bytes():
        return ModuleStatus(
            state="differs", path=path, detail=f"{path} is of another version: run `raydebug install-plugin`."
        )
    return ModuleStatus(state="current", path=path, detail=f"{path} is in place.")


def _locate(ray_site: Path | None, python: str | None) -> Path:
    if ray_site and python:
        raise click.UsageError("Give --ray-site or --python, not both.")
    site = ray_site or site_of_interpreter(python)
    if site is None:
        raise NoRay(
            f"Ray isn't installed for {python or 'this interpreter'}. Name the one that runs `ray start`: "
            "--python PATH, or its site-packages folder: --ray-site PATH."
        )
    if not (site / MODULE.parent).is_dir():
        raise NoRay(f"{site / MODULE.parent} doesn't exist. Is {site} the site-packages folder of ray[default]?")
    return site


def place(site: Path) -> bool:
    """Write the module file, whole or not at all; False if it was there already."""
    target = site / MODULE
    wanted = SOURCE.read_bytes()
    if target.is_file() and target.read_bytes() == wanted:
        return False
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".raydebug-")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(wanted)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return True


def _options(command: click.Command) -> click.Command:
    site = click.Option(
        ["--ray-site"],
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The site-packages folder that holds Ray.",
    )
    python = click.Option(["--python"], metavar="PATH", help="The interpreter whose Ray is meant.")
    command.params[:0] = [site, python]
    return command


@click.command("install-plugin")
def install_plugin(ray_site: Path | None, python: str | None) -> None:
    """Make Ray's dashboard and node agents load raydebug."""
    site = _locate(ray_site, python)
    try:
        written = place(site)
    except OSError as error:
        raise click.ClickException(
            f"{site / MODULE} can't be written: {error.strerror}. Run this as the owner of that environment."
        ) from error
    if not written:
        click.echo(f"{site / MODULE} was in place already; nothing to do.")
        return
    click.echo(f"Wrote {site / MODULE}.")
    click.echo("It is loaded at the next `ray start`; the same is needed on every node.")
    if python or ray_site:
        click.echo("raydebug itself has to be installed in that environment, too.")


@click.command("remove-plugin")
def remove_plugin(ray_site: Path | None, python: str | None) -> None:
    """Take back what install-plugin wrote."""
    site = _locate(ray_site, python)
    try:
        (site / MODULE).unlink()
    except FileNotFoundError:
        click.echo(f"{site / MODULE} isn't there; nothing to do.")
        return
    except OSError as error:
        raise click.ClickException(f"{site / MODULE} can't be removed: {error.strerror}.") from error
    click.echo(f"Removed {site / MODULE}. A running Ray keeps it until it is restarted.")


_options(install_plugin)
_options(remove_plugin)
