"""What the steps of the demo share: questions to the service, whose answers are compared with the fleet's file."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from baremetal_sched.cli.demo.client import DemoAnswer, DemoClient, DemoFailed, DemoMachine, Wish
from baremetal_sched.cli.demo.show import Show

GENERAL, GPU, STORAGE = "baremetal-general", "baremetal-gpu", "baremetal-storage"
CUDA_7 = ("HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_0", "HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_2")

AGAIN = "The same question again,"


class Asking:
    """The service behind ``client``, and what the file says of its ``machines``; ``names``: theirs by UUID."""

    def __init__(self, client: DemoClient, machines: Sequence[DemoMachine], show: Show, names: dict[str, str]) -> None:
        self.client = client
        self.machines = machines
        self.show = show
        self.names = names

    def offers(self, text: str, wish: Wish, claimed: Collection[str] = ()) -> list[dict[str, Any]]:
        """Ask for allocation candidates, compare them with the fleet, and return them."""
        path = f"/allocation_candidates?{wish.query}"
        if not text.startswith(AGAIN):
            self.show.request("GET", f"/placement{path}")
        answer = self.document(path, self.client.placement("GET", path))
        candidates: list[dict[str, Any]] = answer["allocation_requests"]
        offered = [name for candidate in candidates for name in self.names_in(candidate)]
        expected = wish.answer(self.machines) - set(claimed)
        said = f"{text}: {listed(expected)}"
        self.show.check(said, sorted(offered) == sorted(expected), f"the service offers {listed(offered)}")
        return candidates

    def names_in(self, candidate: Mapping[str, Any]) -> list[str]:
        """Return the names of the machines of a candidate."""
        return [self.names.get(provider, provider) for provider in candidate["allocations"]]

    def try_(self, text: str, status: int, method: str, path: str, body: Any = None) -> None:
        """Send a request to placement and check its status."""
        self.show.request(method, f"/placement{path}")
        self.judge(text, self.client.placement(method, path, body), status)

    def judge(self, text: str, answer: DemoAnswer, status: int, words: Iterable[str] = ()) -> None:
        """Check the status, and the words that the error message must contain."""
        got = f"{answer.status} {answer.message}".rstrip()
        right = answer.status == status and all(word in answer.message for word in words)
        expected = f"{status}{' naming ' if words else ''}{', '.join(words)}"
        self.show.check(f"{text}: {got if right else expected}", right, got)

    def document(self, what: str, answer: DemoAnswer) -> dict[str, Any]:
        """Return the document of an answer. Raises DemoFailed for an error."""
        if answer.status != 200 or not isinstance(answer.body, dict):
            raise DemoFailed(f"{what}: {answer.status} {answer.message}")
        return answer.body


def listed(names: Iterable[str]) -> str:
    """Return names for people."""
    return ", ".join(sorted(names)) or "none"
