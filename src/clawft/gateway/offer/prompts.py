"""The prompts of all providers, named like tools, and the completion of their arguments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.catalog import names, uris
from clawft.catalog.names import SURELY_FIT
from clawft.catalog.snapshot import Spellings
from clawft.errors import MAX_TOLD, ToolNotFound
from clawft.gateway.offer.basis import Basis
from clawft.gateway.offer.registered_provider import RegisteredProvider, listed_by
from clawft.guard.side_duties import OfferUse, unasked
from clawft.link.share.large_messages import process_message
from clawft.model import (
    Call,
    Caller,
    Completing,
    Completion,
    ForeignCompletion,
    ForeignPrompt,
    Origin,
    Prompt,
    Reply,
    SilentTalk,
    Talk,
    Tool,
)
from clawft.policy.pseudo_tools import PROMPTS, RESOURCES
from clawft.provider.base import CompletionProvider, InformedCompletion, PromptProvider

GET = "prompts/get"
NO_VALUES = Completion((), 0, has_more=False)


class NamedPrompt(Struct, frozen=True):
    """A prompt under the name agents see, with its provider."""

    name: str
    prompt: Prompt | ForeignPrompt
    provider: PromptProvider
    origin: Origin

    @property
    def names(self) -> tuple[str, ...]:
        """Every name a caller may use for this prompt."""
        return (self.name, *names.accepted(self.origin, Tool(self.prompt.name, b"")))

    @property
    def view(self) -> Prompt:
        return self.prompt if isinstance(self.prompt, Prompt) else self.prompt.view


class Prompts:
    def __init__(self, basis: Basis) -> None:
        self._roster = basis.roster
        self._form = basis.form
        self._reaches = basis.reaches
        self._shared = basis.shared
        self._side_duties = basis.side_duties

    def visible(self, caller: Caller) -> list[NamedPrompt]:
        return [named for named in self._named(caller) if self._side_duties.shows(Spellings(named), caller)]

    def listed(self, caller: Caller) -> list[NamedPrompt]:
        """The visible prompts; of those that changed since they were approved only a note is shown."""
        visible = self.visible(caller)
        notes = {
            origin: self._side_duties.withheld_prompts(origin, caller)
            for origin in dict.fromkeys(each.origin for each in visible)
        }
        return [_without_words(each, note) if (note := notes[each.origin]) else each for each in visible]

    def _named(self, caller: Caller) -> Iterator[NamedPrompt]:
        for known in self._roster.of(caller):
            if isinstance(known.provider, PromptProvider) and self._may_see(known, caller):
                for prompt in listed_by(known.owner, "prompts", known.provider.list_prompts):
                    name = names.exported(known.origin, Tool(prompt.name, b""), self._form)
                    yield NamedPrompt(name, prompt, known.provider, known.origin)

    def _may_see(self, known: RegisteredProvider, caller: Caller) -> bool:
        """Rules match a prompt by its name; where its provider stands for a tool, that tool decides as well."""
        return not known.stands_for or self._reaches(known, caller)

    def has(self, name: str, caller: Caller) -> bool:
        return self._look_up(name, caller) is not None

    def find(self, caller: Caller, name: str) -> NamedPrompt:
        found = self._look_up(name, caller)
        if found is None:
            raise ToolNotFound(
                f"unknown prompt: {name[:MAX_TOLD]}", hint="call prompts/list to see the available prompts"
            )
        return found

    def _look_up(self, name: str, caller: Caller) -> NamedPrompt | None:
        called = (named for named in self._named(caller) if _is_called(named, name))
        return next((named for named in called if self._side_duties.shows(named.names, caller)), None)

    async def get(
        self, caller: Caller, name: str, arguments: bytes, talk: Talk, meta: bytes = b"", more: bytes = b""
    ) -> bytes:
        """The whole result of `prompts/get`. Raises ToolNotFound, NotApproved or TooLarge."""
        found = self.find(caller, name)
        call = Call(caller, found.name, Tool(found.prompt.name, b""), found.origin, arguments, meta, talk, name, more)
        noted, began = msgspec.structs.replace(call, name=f"{GET} {found.name}"), time.perf_counter()
        try:
            result = await self._made(found, call)
        except BaseException as ended:
            self._side_duties.noted(noted, began, ended)
            raise
        self._side_duties.noted(noted, began, Reply(result))
        return result

    async def _made(self, found: NamedPrompt, call: Call) -> bytes:
        caller = call.caller
        asked = msgspec.json.encode({"name": found.prompt.name, "arguments": Raw(call.arguments)})
        await self._side_duties.ensure(OfferUse(PROMPTS, found.origin, caller, asked, call.talk))
        made = await found.provider.get_prompt(call)
        result = made if isinstance(made, bytes) else msgspec.json.encode(made)
        spelled = self._shared.spelled(found.origin, caller)
        if spelled is not None:
            from clawft.wire import resource_links  # only where URIs are shared

            result = await process_message(
                result, found.origin.server, partial(resource_links.in_prompt, result, spelled)
            )
        return await self._side_duties.passing(f"the prompt {found.name}", found.origin, result)

    def completes(self, asked: Completing) -> bool:
        """Whether this completion is for a known prompt. For a template, only asking all providers would tell."""
        return asked.ref.get("type") == "ref/prompt" and self.has(str(asked.ref.get("name", "")), asked.caller)

    async def complete(self, caller: Caller, asked: Completing) -> Completion | ForeignCompletion:
        """Completions from the provider of a prompt; for a resource template from all reached providers that complete.

        Raises NotApproved, as what is typed goes to the server too. The person is not asked: it would be once for each
        letter.
        """
        ref = asked.ref
        if ref.get("type") == "ref/prompt":
            found = self.find(caller, str(ref.get("name", "")))
            ref = {**ref, "name": found.prompt.name}
            await self._side_duties.ensure(_use(PROMPTS, found.origin, caller, ref))
            return await self._complete(found.provider, found.origin, _about(ref, asked))
        owner, native = uris.unwrap(str(ref.get("uri", ""))) or ("", "")
        if owner:
            ref = {**ref, "uri": native}
        for known in self._completing(caller, ref, owner):
            await self._side_duties.ensure(_use(RESOURCES, known.origin, caller, ref))
            completion = await self._complete(known.provider, known.origin, _about(ref, asked))
            if completion.values:
                return completion
        return NO_VALUES

    async def _complete(self, provider: object, origin: Origin, asked: Completing) -> Completion | ForeignCompletion:
        known = await _complete(provider, asked)
        if isinstance(known, Completion):
            return known
        return ForeignCompletion(known.values, await self._side_duties.passing("the completion", origin, known.raw))

    def _completing(self, caller: Caller, ref: Mapping[str, Any], owner: str) -> list[RegisteredProvider]:
        """The providers that may know values for a template, or its owner alone, where that is named."""
        reached = (
            known
            for known in self._roster.of(caller)
            if owner in ("", known.owner)
            and self._reaches(known, caller)
            and (owner or self._is_spelled(known, caller, str(ref.get("uri", ""))))
        )
        return [
            known
            for known in reached
            if isinstance(known.provider, CompletionProvider)
            or (isinstance(known.provider, InformedCompletion) and known.provider.completes(ref))
        ]

    def _is_spelled(self, known: RegisteredProvider, caller: Caller, template: str) -> bool:
        """Whether a template of this provider would be spelled so; another's text is not to be sent there."""
        spelled = self._shared.spelled(known.origin, caller)
        return spelled is None or spelled.template(template) == template


def _use(method: str, origin: Origin, caller: Caller, ref: Mapping[str, Any]) -> OfferUse:
    return OfferUse(method, origin, unasked(caller), msgspec.json.encode(ref), SilentTalk())


def _about(ref: Mapping[str, Any], asked: Completing) -> Completing:
    """The completion with the prompt or template as its provider knows it."""
    return msgspec.structs.replace(asked, ref=ref)


async def _complete(provider: object, asked: Completing) -> Completion | ForeignCompletion:
    if isinstance(provider, InformedCompletion):
        return await provider.complete_after(asked)
    if isinstance(provider, CompletionProvider):
        values = await provider.complete(asked.ref, asked.argument, asked.value)
        return Completion(values, len(values), has_more=False)
    return NO_VALUES


def _is_called(named: NamedPrompt, name: str) -> bool:
    """Whether a prompt goes by this name. Cheap checks come first: a server may have thousands of prompts."""
    if name == named.name:
        return True
    own = named.prompt.name
    return (name.endswith(own) or not named.name.endswith(own) or len(named.name) > SURELY_FIT) and name in named.names


def _without_words(named: NamedPrompt, note: str) -> NamedPrompt:
    return msgspec.structs.replace(named, prompt=Prompt(named.prompt.name, description=note))
