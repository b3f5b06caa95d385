"""Calls that become tasks: the extension of 2026-07-28, or the experiment of 2025-11-25."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from tests.matrix.peer.shapes import FORM, META, TASKS, Json, Refused, text

if TYPE_CHECKING:  # the server imports us
    from tests.matrix.peer.server import Asked, Out, Server

STAMP = "2026-01-01T00:00:00Z"
TTL_MS, POLL_MS = 40_000, 20
FINAL = ("completed", "failed", "cancelled")


class Job:
    """`gate`: what to wait for; `outcome`: ok, error (a result that says so) break (a JSON-RPC error) or cancel."""

    def __init__(self, id: str, arguments: Json, out: Out | None) -> None:
        self.id = id
        self.out: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        """Where its questions go: the stream of the call, or of whoever waits for the result of the task."""
        if out is not None:
            self.out.set_result(out)
        self.arguments = arguments
        self.status = "working"
        self.answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.outcome: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.work: asyncio.Task[None] | None = None


class Jobs:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    async def call(self, asked: Asked) -> Json:
        wanted = self._extension(asked) if self._server.stateless else "task" in asked.params
        if not wanted and asked.params["name"] == "long_job":
            if self._server.stateless:
                raise Refused(-32021, "needs tasks", {"requiredCapabilities": {"extensions": {TASKS: {}}}})
            raise Refused(-32601, "long_job must be called as a task")
        job = Job(f"job/{next(self._numbers)}", asked.arguments, None if wanted else asked.out)
        if not wanted:
            return await self._result(job)
        self._jobs[job.id] = job
        if not self._server.stateless:
            self._server.marks.append(f"keep {job.arguments.get('token')} for {asked.params['task'].get('ttl')}")
        job.work = asyncio.get_running_loop().create_task(self._run(job))
        if self._server.stateless:
            return {"resultType": "task", **self._flat(job)}
        return {"task": self._old(job)}

    def _extension(self, asked: Asked) -> bool:
        told: Json = asked.meta.get(META + "clientCapabilities") or {}
        return TASKS in (told.get("extensions") or {})

    async def _run(self, job: Job) -> None:
        self._server.marks.append(f"began {job.arguments.get('token')}")
        try:
            result = await self._result(job)
        except asyncio.CancelledError:
            self._server.marks.append(f"cancelled {job.arguments.get('token')}")
            self._move(job, "cancelled")
            if not job.outcome.done() and not self._server.stateless:
                job.outcome.set_result({"error": {"code": -32000, "message": "cancelled"}})
            raise
        except Refused as refused:
            job.outcome.set_result({"error": refused.error})
            self._move(job, "failed")
        else:
            job.outcome.set_result({"result": result})
            failed = not self._server.stateless and result.get("isError")
            self._move(job, "failed" if failed else "completed")

    async def _result(self, job: Job) -> Json:
        if job.arguments.get("ask"):
            self._move(job, "input_required")
            if not self._server.stateless:
                self._server.ask(await job.out, job.answer, FORM)
            answered = await job.answer
            self._move(job, "working")
            return text(f"hello {answered['content']['name']}")
        if gate := job.arguments.get("gate"):
            await self._server.gate(gate).wait()
        if job.arguments.get("outcome") == "cancel":
            raise asyncio.CancelledError
        if job.arguments.get("outcome") == "break":
            raise Refused(-32055, "it broke", {"why": "asked to"})
        failed = {"isError": True} if job.arguments.get("outcome") == "error" else {}
        return {**text(str(job.arguments.get("token"))), **failed}

    def _move(self, job: Job, status: str) -> None:
        job.status = status
        self._server.task_changed(job.id, self._flat(job) if self._server.stateless else self._old(job))

    # ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _flat(self, job: Job) -> Json:
        shape: Json = {**self._both(job), "ttlMs": TTL_MS, "pollIntervalMs": POLL_MS}
        if job.status == "input_required":
            shape["inputRequests"] = {"name": {"method": "elicitation/create", "params": FORM}}
        return {**shape, **(job.outcome.result() if job.outcome.done() else {})}

    def _old(self, job: Job) -> Json:
        return {**self._both(job), "ttl": TTL_MS, "pollInterval": POLL_MS}

    def _both(self, job: Job) -> Json:
        told = {"status": job.status, "statusMessage": f"{job.status}, says the server"}
        return {"taskId": job.id, **told, "createdAt": STAMP, "lastUpdatedAt": STAMP}

    # ── tasks/* ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, asked: Asked) -> Json:
        if self._server.stateless and not self._extension(asked):
            raise Refused(-32021, "needs tasks", {"requiredCapabilities": {"extensions": {TASKS: {}}}})
        if asked.method == "tasks/list" and not self._server.stateless:
            return {"tasks": [self._old(job) for job in self._jobs.values()]}
        job = self._jobs.get(asked.params.get("taskId", ""))
        if job is None:
            raise Refused(-32602, "unknown task")
        return await self._about(job, asked)

    async def _about(self, job: Job, asked: Asked) -> Json:
        match asked.method:
            case "tasks/get":
                return self._flat(job) if self._server.stateless else self._old(job)
            case "tasks/cancel":
                await self._cancel(job)
                return {} if self._server.stateless else self._old(job)
            case "tasks/update" if self._server.stateless:
                answers: dict[str, Any] = asked.params["inputResponses"]
                if "name" in answers and not job.answer.done():
                    job.answer.set_result(answers["name"])
                return {}
            case "tasks/result" if not self._server.stateless:
                if not job.out.done():
                    job.out.set_result(asked.out)
                ended = await asyncio.shield(job.outcome)
                if "error" in ended:
                    raise Refused(ended["error"]["code"], ended["error"]["message"], ended["error"].get("data"))
                meta: Json = ended["result"].get("_meta", {})
                return {**ended["result"], "_meta": {**meta, META + "related-task": {"taskId": job.id}}}
            case _:
                raise Refused(-32601, f"unknown: {asked.method}")

    async def _cancel(self, job: Job) -> None:
        if job.work is not None and job.status not in FINAL:
            job.work.cancel()
            await asyncio.gather(job.work, return_exceptions=True)
            if not job.outcome.done():
                job.outcome.set_result({"error": {"code": -32000, "message": "cancelled"}})
