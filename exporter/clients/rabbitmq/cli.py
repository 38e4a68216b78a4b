"""What only `rabbitmqctl eval` can tell, asked in a process of its own that is ended when it is late.

Opt-in (`cli:`), because the Erlang cookie is full power over the cluster. The calls are internal to the broker: seen
on 3.10.8, 4.0.5 and 4.3.6. They read and change nothing. Names travel in base64, since they may be anything, and
numbers as values of maps: of a list of small numbers 4.3 makes a text.
"""

from __future__ import annotations

import binascii
import os
import signal
import subprocess
import time
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from exporter.clients.rabbitmq.failures import Failure, RequestError, decoded
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind
from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_listing import whole
from exporter.model.rabbitmq_streams import Tracked

PATIENCE = 3  # timeouts: the tool is a virtual machine of its own that starts and joins the cluster for each call

QUORUM_AGES = """
#{now => erlang:system_time(millisecond), queues => [
  begin
    {resource, V, queue, N} = amqqueue:get_name(Q),
    {Name, Leader} = amqqueue:get_pid(Q),
    Here = case catch maps:get(nodes, amqqueue:get_type_state(Q)) of
             Nodes when is_list(Nodes) -> lists:member(node(), Nodes);
             Nodes when is_map(Nodes) -> maps:is_key(node(), Nodes);
             _ -> false end,
    Member = case Here of true -> {Name, node()}; false -> {Name, Leader} end,
    #{vhost => base64:encode(V), name => base64:encode(N),
      entered => case catch ra:aux_command(Member, oldest_entry_timestamp) of
                   {ok, T} when is_integer(T) -> T; T when is_integer(T) -> T; _ -> null end}
  end || Q <- rabbit_amqqueue:list(), amqqueue:get_type(Q) =:= rabbit_quorum_queue]}.
"""
"""The member on the node itself is asked, which answers like the leader and also while a peer is frozen."""

STREAM_TRACKING = """
[begin
   {resource, V, queue, N} = amqqueue:get_name(Q),
   Status = case catch rabbit_stream_queue:status(V, N) of S when is_list(S) -> S; _ -> [] end,
   Tracking = case catch rabbit_stream_queue:tracking_status(V, N) of T when is_list(T) -> T; _ -> [] end,
   #{vhost => base64:encode(V), name => base64:encode(N),
     ends => [#{offset => O} || R <- Status, is_list(R), O <- [proplists:get_value(offset, R)], is_integer(O)],
     stored => [#{consumer => base64:encode(proplists:get_value(reference, R)), offset => proplists:get_value(value, R)}
                || R <- Tracking, is_list(R), proplists:get_value(type, R) =:= offset]}
 end || Q <- rabbit_amqqueue:list(), amqqueue:get_type(Q) =:= rabbit_stream_queue].
"""


OTHER_COOKIE = (b"Erlang distribution failed", b"rejected the Erlang cookie")
NO_RIGHT = (b"Only root or rabbitmq", b"eacces")  # the packages' wrapper; a cookie that may not be read
JUST_NOW = 100  # ms: of an empty queue the broker says "now"


def quorum_entries(config: RabbitMQ) -> dict[QueueName, float]:
    """When the oldest message of each quorum queue, ready or unacknowledged, was appended: unix seconds by our clock.

    A queue whose member did not answer, or that was empty, is left out. Raises RequestError.
    """
    began = time.time()
    answer = evaluate(config, QUORUM_AGES)
    now = whole(answer.get("now")) if isinstance(answer, dict) else None
    if now is None or not isinstance(answer["queues"], list):
        raise RequestError(_strange("ages"))
    ahead = clock_ahead(now / 1000, began, time.time())
    found = {}
    for item in answer["queues"]:
        entered = whole(item.get("entered"))
        if entered is not None and entered < now - JUST_NOW:
            found[_queue(item)] = entered / 1000 - ahead
    return found


def clock_ahead(theirs: float, began: float, ended: float) -> float:
    """How far a clock that was read within a call is ahead of ours; none where it can be the same."""
    return 0.0 if began <= theirs <= ended else theirs - (began + ended) / 2


def stream_tracking(config: RabbitMQ) -> list[Tracked]:
    """Where each stream ends on each replica, and what its consumers stored. Raises RequestError."""
    answer = evaluate(config, STREAM_TRACKING)
    if not isinstance(answer, list):
        raise RequestError(_strange("stream tracking"))
    return [
        Tracked(
            _queue(item),
            tuple(end for each in item["ends"] if (end := whole(each["offset"])) is not None),
            {
                _decoded(one["consumer"]): offset
                for one in item["stored"]
                if (offset := whole(one["offset"])) is not None
            },
        )
        for item in answer
    ]


def _queue(item: Mapping[str, Any]) -> QueueName:
    return QueueName(_decoded(item["vhost"]), _decoded(item["name"]))


def _decoded(value: Any) -> str:
    try:
        return b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, TypeError, ValueError):
        raise RequestError(_strange("names")) from None


def _strange(what: str) -> Failure:
    return Failure(Kind.PROTOCOL, f"the CLI's answer does not hold {what} as expected; is it of another version?")


def evaluate(config: RabbitMQ, expression: str) -> Any:
    """The value of an Erlang expression on the node that the command reaches. Raises RequestError."""
    command = [*config.cli, "eval", "--silent", "--formatter", "json", " ".join(expression.split())]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=_environment(config), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RequestError(Failure(Kind.UNREACHABLE, f"{config.cli[0]} cannot be run: {reason}")) from None
    out, err = _finished(process, PATIENCE * config.timeout)
    if process.returncode != 0:
        raise RequestError(_failed(config.cli[0], process.returncode, err))
    try:
        answer = decoded(out)
    except ValueError:
        raise RequestError(_strange("JSON")) from None
    return answer.get("value", answer) if isinstance(answer, dict) else answer


def _environment(config: RabbitMQ) -> dict[str, str]:
    """Ours without the variables that hold secrets, which are no business of the tool, and what is configured."""
    ours = {name: value for name, value in os.environ.items() if name not in config.other_secrets}
    return ours | config.cli_env


def _finished(process: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bytes]:
    """Output and error output. One that is late is ended with all its children, and is a timeout."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        what = f"the CLI did not finish within {timeout:g} s; is a node frozen?"
        raise RequestError(Failure(Kind.TIMEOUT, what)) from None


def _failed(command: str, code: int, err: bytes) -> Failure:
    """By the first line of the error output; what follows may describe the cookie."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    first = lines[0][:200] if lines else "no reason given"
    if any(sign in err for sign in OTHER_COOKIE):
        what = "the node refuses its Erlang cookie: give the node's own by HOME in `cli_env`, readable by this user"
        return Failure(Kind.AUTHENTICATION, f"{command} ended with {code}: {what}")
    if any(sign in err for sign in NO_RIGHT):
        what = "it wants root, the user rabbitmq, or a readable Erlang cookie: run it by sudo in `cli`"
        return Failure(Kind.AUTHORIZATION, f"{command} ended with {code}: {what} ({first})")
    return Failure(Kind.UNREACHABLE, f"{command} ended with {code}: {first}")
