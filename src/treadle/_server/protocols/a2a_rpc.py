"""JSON-RPC as A2A uses it: the envelope, and errors in it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._server.errors import ApiError, UnreadableBody, error_response

CODES = {400: -32602, 404: -32001, 409: -32004, 422: -32602}
"""By the status of an error while a method works: invalid parameters, task not found, unsupported in this state."""
NOT_CANCELABLE, NO_EXTENDED_CARD, NO_VERSION = -32002, -32007, -32009
_PARSE_ERROR, _INVALID_REQUEST, _INTERNAL = -32700, -32600, -32603
"""Errors before a method is known."""
_REASONS = {
    -32001: "TASK_NOT_FOUND",
    NOT_CANCELABLE: "TASK_NOT_CANCELABLE",
    -32004: "UNSUPPORTED_OPERATION",
    NO_EXTENDED_CARD: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    NO_VERSION: "VERSION_NOT_SUPPORTED",
}


class RpcRequest(Struct, frozen=True, kw_only=True):
    method: Annotated[str, Meta(max_length=100)]
    params: dict[str, Any] = {}
    id: str | int | None = None
    jsonrpc: Literal["2.0"] = "2.0"


class RpcAnswer(Struct, frozen=True, omit_defaults=True):
    id: str | int | None
    jsonrpc: Literal["2.0"]
    result: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class RpcError(Exception):
    """An error with a code of its own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def failed(request_id: str | int | None, code: int, message: str) -> RpcAnswer:
    error: dict[str, Any] = {"code": code, "message": message}
    if reason := _REASONS.get(code):
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["data"] = [{"@type": kind, "reason": reason, "domain": "a2a-protocol.org"}]
    return RpcAnswer(request_id, "2.0", error=error)


def rpc_refusal(error: ApiError) -> Response:
    """Answer a request that reached no method, or that failed in the server: with a status of HTTP."""
    response = error_response(error)
    code = _INVALID_REQUEST if error.kind == "bad_request" else _INTERNAL
    code = _PARSE_ERROR if isinstance(error, UnreadableBody) else code
    response.body = msgspec.json.encode(failed(None, code, error.message))
    response.headers["content-length"] = str(len(response.body))
    return response


def params(request: RpcRequest, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(request.params, kind)
    except msgspec.ValidationError as error:
        raise RpcError(-32602, f"invalid params: {error}") from None
