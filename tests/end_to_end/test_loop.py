"""`/loop`: a prompt that is repeated while kaa is open."""

from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.model_server import say
from tests.support.rpc_client import rpc


def test_a_prompt_is_repeated_until_it_is_stopped(seat: Seat) -> None:
    with seat.open(script=[say(f"Round {number}.") for number in range(100)]) as program:
        enter(program, "/loop 0.1s look at it")
        program.wait_for("Round 2.")
        enter(program, "/loop stop")
        program.wait_for("no longer repeated")
        program.wait_for(is_idle)
        seen = len(seat.model.requests)
        enter(program, "/loop")
        program.wait_for("Nothing is repeated.")

    assert len(seat.model.requests) == seen
    assert seat.heard()[0] == ("user", "look at it")


def test_three_failures_end_it(seat: Seat) -> None:
    seat.settings(retry={"maxRetries": 0})
    with seat.open(script=[]) as program:
        enter(program, "/loop 0.1s look at it")
        program.wait_for("3 runs failed in a row")


def test_what_is_missing_is_said(seat: Seat) -> None:
    with rpc(seat) as client:
        for arguments in ("5m", "5 look", "0s look", "often look", "1d look"):
            assert "Say how often and what" in client.error("prompt", message=f"/loop {arguments}"), arguments


def test_without_a_user_nothing_is_repeated(seat: Seat) -> None:
    assert "Nobody is here to stop it" in seat.run("-p", "/loop 5m look").err
    with rpc(seat) as client:
        seat.model.begin([say("Round 1.")])
        client.data("prompt", message="/loop 5m look")
        client.event("agent_end")
