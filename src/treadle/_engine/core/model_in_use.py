"""The model that a run uses now: the dialect it is spoken to in, how requests are rendered for it, its fallbacks."""

from __future__ import annotations

from treadle._dialects.base import Dialect, Prompts
from treadle._dialects.registry import choose_dialect, dialect_for
from treadle._engine.core.blueprint import Blueprint
from treadle._engine.core.budget import BudgetTracker
from treadle._engine.core.log import Log
from treadle._engine.core.tool_offer import ToolOffer
from treadle._engine.reply_policy import ReplyPolicy, policy_of
from treadle._engine.requests.estimate import Estimator, token_limit
from treadle._engine.requests.render import Renderer
from treadle._engine.settings import Settings
from treadle._models.base import Model, meet
from treadle._types.events import DialectDemoted, ModelSwitched
from treadle._types.request import WireCache


class ModelInUse:
    """The model in use, and what depends on which one it is."""

    def __init__(
        self,
        blueprint: Blueprint,
        settings: Settings,
        log: Log,
        budget: BudgetTracker,
        tools: ToolOffer,
        prompts: Prompts,
    ) -> None:
        self._blueprint, self._settings, self._log = blueprint, settings, log
        self._budget, self._tools, self._prompts = budget, tools, prompts
        models = blueprint.models
        self._index = next((index for index, model in enumerate(models) if model.name == log.state.model), 0)
        self.model: Model = models[self._index]
        self._caches: dict[str, WireCache] = {}
        self._new_renderer()
        self.estimator = Estimator()
        self.counts_tokens = budget.bounded or self.token_limit is not None
        """Whether anybody wants to know how many tokens a request has."""

    @property
    def has_fallback(self) -> bool:
        return self._index + 1 < len(self._blueprint.models)

    async def meet_model(self) -> None:
        """First contact with the model: what it is decides how it is spoken to."""
        await self._meet()
        if self.model.profile is not self.renderer.profile:  # or another run has met it since this one was prepared
            self._new_renderer()
            self.counts_tokens = self._budget.bounded or self.token_limit is not None

    async def use_fallback(self, reason: str) -> None:
        """Take the next model of the agent's list."""
        self._index += 1
        self.model = self._blueprint.models[self._index]
        await self._meet()
        await self.switch_model(reason)

    async def _meet(self) -> None:
        await meet(self.model)
        # What a trial costs is in no budget; and without tools there is nothing to try.
        if self._settings.probe and not self._budget.bounded and self._tools.at_start:
            from treadle._models.contact.trial import try_once  # for those who ask for it only

            await try_once(self.model)

    async def switch_model(self, reason: str) -> None:
        """Record that another model than the log names continues, and speak the dialect that suits it."""
        model, state = self.model, self._log.state
        await self._log.emit(ModelSwitched(model.name, state.model, reason, model.profile))
        dialect = self._suitable_dialect(bool(state.tools))
        if dialect != state.dialect:
            await self._log.emit(DialectDemoted(dialect, state.dialect, "the new model speaks another dialect"))
        self._new_renderer()

    async def meet_tools(self) -> None:
        """A run that began without tools has some now: speak the dialect that suits the model for those."""
        dialect = self._suitable_dialect(True)
        if dialect != self.dialect.name:
            await self.demote_dialect(dialect, "there are tools now")

    def _suitable_dialect(self, tools: bool) -> str:
        """Without tools there is nothing to choose from: whatever the model is, it is asked plainly."""
        if not tools and self._wanted_dialect.startswith("auto"):
            return "native"
        return choose_dialect(self._wanted_dialect, self.model.profile).name

    async def demote_dialect(self, dialect: str, reason: str) -> None:
        await self._log.emit(DialectDemoted(dialect, self.dialect.name, reason))
        self._new_renderer()

    @property
    def _wanted_dialect(self) -> str:
        """The one that was set, unless the model (one for tests) speaks one whatever is set."""
        return str(getattr(self.model, "speaks", "")) or self._settings.dialect

    def _new_renderer(self) -> None:
        """For the current model, in the dialect the log says, else the one that suits the model."""
        name = self._log.state.dialect or self._suitable_dialect(bool(self._tools.at_start))
        self.dialect: Dialect = dialect_for(name, self._settings.complete_name)
        self.renderer = Renderer(self.dialect, self._settings, self.model.profile)
        self.policy: ReplyPolicy | None = policy_of(self.model)

    def system_prompt(self) -> str:
        started = self._log.state.started
        return self.dialect.system(started.system, self._log.state.tools, self._prompts) if started else ""

    @property
    def token_limit(self) -> int | None:
        """The tokens one request may have; None when nothing is known about it."""
        return token_limit(self._settings, self.model.profile)

    def cache_for(self, component: str) -> WireCache:
        return self._caches.setdefault(component, WireCache())

    def release_caches(self) -> None:
        """The run is over, though somebody may hold on to it: a local model may give its slot to another run."""
        self._caches.clear()
        self.renderer.forget()
