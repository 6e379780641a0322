from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.gate import BlockedDestination, NetworkJournal


def _host(number: int) -> Destination:
    return Destination(f"host-{number}.example", 443)


def test_each_destination_is_told_once_at_its_last_time() -> None:
    journal = NetworkJournal()
    journal.block(_host(1), "host-1.example")
    mark = journal.mark()
    journal.block(_host(2), None)
    journal.block(_host(1), "host-1.example")
    journal.block(_host(2), None)

    assert journal.blocked_since(mark) == (
        BlockedDestination(_host(1), "host-1.example"),
        BlockedDestination(_host(2), None),
    )
    assert journal.blocked_since(journal.mark()) == ()


def test_of_very_many_the_last_are_remembered() -> None:
    journal = NetworkJournal()
    for number in range(10_000):
        journal.block(_host(number), None)
        journal.allow(_host(number))

    assert len(journal.blocked_since(0)) == len(journal.allowed_since(0)) == 256
    assert journal.allowed_since(0)[-1] == _host(9_999)


def test_one_that_is_asked_for_again_and_again_displaces_no_other() -> None:
    journal = NetworkJournal()
    journal.block(_host(1), None)
    for _ in range(1_000):
        journal.block(_host(2), None)

    assert [refusal.destination for refusal in journal.blocked_since(0)] == [_host(1), _host(2)]
