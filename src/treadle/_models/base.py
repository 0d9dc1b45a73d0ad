"""The interface of a model: one method that streams deltas and ends with the whole reply, and a profile of facts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from treadle._lazy import lazy_module
from treadle._types.errors import BadReplyError, ConfigError, ModelError
from treadle._types.profile import Profile
from treadle._types.request import Delta, Reply, Request, StreamPart

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")


@runtime_checkable
class Model(Protocol):
    """A language model, as the engine uses it. Failures are raised as `ModelError`."""

    @property
    def name(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Deltas as they come (none if `request.stream` is False), then exactly one `Reply`."""
        ...

    async def aclose(self) -> None: ...


async def meet(model: Model) -> None:
    """First contact, for a model that has to ask its server what it is: afterwards its name and profile are known. It
    never fails, and a second time does nothing."""
    ask = getattr(model, "meet", None)
    if ask is not None:
        await ask()


def refused_tools(model: Model, *, store: bool) -> None:
    """The model's server has refused tools: later runs do not offer them to it first. With `store`, nor do those of
    later processes."""
    report = getattr(model, "refused_tools", None)
    if report is not None:
        report(store=store)


class Closing:
    """`async with model:` closes it at the end."""

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def model_failure(model: Model, error: BaseException) -> BaseException:
    """Turn an exception of a model's stream into a failure of the model, whatever its class. A wrong configuration
    stays one, and so does the cancellation of the task that reads the stream; a cancellation that nobody asked for (of
    a scope inside the model) is a failure like any other."""
    if isinstance(error, ModelError | ConfigError):
        return error
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            return error
    from treadle._models.transport.failures import model_failure  # only when something has failed

    return model_failure(model.name, error, type(model).__module__)


async def complete(model: Model, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
    """Read one exchange to its end and return the reply."""
    reply: Reply | None = None
    try:
        async for part in model.stream(request):
            if isinstance(part, Reply):
                reply = part
            elif on_delta is not None:
                on_delta(part)
    except (Exception, asyncio.CancelledError) as error:
        raise model_failure(model, error) from error
    if reply is None:
        raise BadReplyError(f"the stream of {model.name} ended without a reply")
    return reply
