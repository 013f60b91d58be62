"""Requests to the Placement API that go to its edges: deep trees, many groups, and writes on nodes' providers."""

from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

from tests.functional.fuzz.attacks import Attack, Attacks, amounts, placement, slices
from tests.functional.fuzz.extremes import numbers, texts
from tests.functional.fuzz.words import mostly

_STOCK = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


class PlacementAttacks(Attacks):
    """Trees, filters, groups, claims, inventories: those that nodes determine, and others."""

    def deep_tree(self, draw: st.DrawFn) -> Attack:
        provider, parent = draw(self.provider), draw(self.provider)
        body = {
            "name": draw(texts | st.just(f"tree-{provider}")),
            "parent_provider_uuid": draw(mostly(st.just(parent), st.none())),
        }
        if draw(st.booleans()):
            return placement("PUT", f"/resource_providers/{provider}", body)
        number = draw(st.integers(0, 300))
        uuid = f"00000000-0000-4000-8000-{number:012}"
        return placement("POST", "/resource_providers", {**body, "uuid": uuid, "name": f"made-{number}"})

    def many_filters(self, draw: st.DrawFn) -> Attack:
        count = draw(st.sampled_from([1, 5, 60, 501]))
        aggregates, traits = draw(slices(self.aggregates, count)), draw(slices(self.traits, min(count, 25)))
        classes = draw(slices(self.classes, min(count, 25)))
        values = mostly(st.just(1), st.sampled_from([1, 1, 1, 0, -1, 2**31, 2**64]))
        pairs = [
            *draw(
                st.sampled_from(
                    [[("member_of", f"in:{','.join(aggregates)}")], [("member_of", one) for one in aggregates]]
                )
            ),
            *draw(st.sampled_from([[("required", ",".join(traits))], [("required", f"in:{','.join(traits)}")], []])),
            ("resources", ",".join(f"{name}:{draw(values)}" for name in classes)),
            *draw(st.sampled_from([[], [("in_tree", draw(self.provider))], [("name", draw(texts))]])),
        ]
        return placement("GET", "/resource_providers", query=urlencode(pairs, errors="surrogatepass"))

    def many_groups(self, draw: st.DrawFn) -> Attack:
        count = draw(st.sampled_from([1, 2, 5, 20, 60]))
        names = ("VCPU", "CUSTOM_GOLD", *self.classes[:3])
        pairs = [("limit", draw(st.sampled_from(["1", "10", "1000", "0", "9" * 30])))]
        suffixes = [f"_{number}" for number in range(count)]
        for suffix in suffixes:
            amount = draw(st.sampled_from([1, 1, 1, 2, 8, 10, 2**31]))
            pairs.append((f"resources{suffix}", f"{draw(st.sampled_from(names))}:{amount}"))
            match draw(st.integers(0, 8)):
                case 0:
                    pairs.append((f"required{suffix}", draw(st.sampled_from(self.traits[:4])) + ",!HW_CPU_X86_VMX"))
                case 1:
                    pairs.append((f"member_of{suffix}", f"in:{','.join(self.aggregates[:20])}"))
                case 2:
                    pairs.append((f"in_tree{suffix}", draw(self.provider)))
        pairs.append(("group_policy", draw(st.sampled_from(["none", "isolate"]))))
        if draw(st.integers(0, 3)) == 0:
            pairs.append(("same_subtree", ",".join(suffixes[:2])))
        return placement("GET", "/allocation_candidates", query=urlencode(pairs))

    def many_consumers(self, draw: st.DrawFn) -> Attack:
        count = draw(st.sampled_from([1, 5, 40]))
        body = {}
        for consumer in draw(st.lists(self.consumer, min_size=1, max_size=count, unique=True)):
            body[consumer] = self._allocations(draw, draw(st.sampled_from([1, 1, 3, 30])))
        return placement("POST", "/allocations", body)

    def many_provider_traits(self, draw: st.DrawFn) -> Attack:
        traits, provider = draw(slices(self.traits, draw(st.sampled_from([0, 50, 400])))), draw(self.provider)
        body = {"traits": traits, "resource_provider_generation": self._generation(draw, provider)}
        return placement("PUT", f"/resource_providers/{provider}/traits", body)

    def node_provider_write(self, draw: st.DrawFn) -> Attack:
        """Writes that the node decides, and free ones: children, aggregates, the traits of the scheduler above."""
        node = draw(self.node)
        generation = self._generation(draw, node)
        path = f"/resource_providers/{node}"
        stock = self._stock(draw)
        name = draw(st.sampled_from(["CUSTOM_GOLD", "VCPU", *self.classes[:2]]))
        traits = draw(
            st.lists(
                st.sampled_from(["COMPUTE_NODE", "OWNER_NOVA", "MISC_SHARES_VIA_AGGREGATE", *self.traits]), max_size=60
            )
        )
        marks = {"resource_provider_generation": generation}
        return draw(
            st.sampled_from(
                [
                    placement("PUT", f"{path}/inventories", {**marks, "inventories": {name: {"total": 1, **stock}}}),
                    placement("PUT", f"{path}/inventories/{name}", {**marks, "total": 1, **stock}),
                    placement("POST", f"{path}/inventories", {**marks, "resource_class": name, "total": 1, **stock}),
                    placement("DELETE", f"{path}/inventories"),
                    placement("DELETE", f"{path}/inventories/{name}"),
                    placement("DELETE", path),
                    placement("PUT", path, {"name": draw(texts)}),
                    placement("PUT", path, {"name": node, "parent_provider_uuid": draw(self.provider)}),
                    placement("PUT", f"{path}/traits", {**marks, "traits": traits}),
                    placement("DELETE", f"{path}/traits"),
                    placement("PUT", f"{path}/aggregates", {**marks, "aggregates": self.aggregates[:400]}),
                ]
            )
        )

    def node_child(self, draw: st.DrawFn) -> Attack:
        child = draw(st.sampled_from(self.world.children[1::2]))
        stock = self._stock(draw)
        names = draw(slices(self.classes, draw(st.sampled_from([1, 5, 100]))))
        body: dict[str, Any] = {"resource_provider_generation": self._generation(draw, child)}
        body |= {"inventories": {name: {"total": 4, **stock} for name in ("VCPU", *names)}}
        consumer, claim = draw(self.consumer), self._allocations(draw, 2)
        claim["allocations"] |= {child: {"resources": {"VCPU": draw(mostly(st.just(1), numbers))}}}
        return draw(
            st.sampled_from(
                [
                    placement("PUT", f"/resource_providers/{child}/inventories", body),
                    placement("PUT", f"/allocations/{consumer}", claim),
                    placement("DELETE", f"/allocations/{consumer}"),
                    placement("DELETE", f"/resource_providers/{child}"),
                ]
            )
        )

    def node_reshape(self, draw: st.DrawFn) -> Attack:
        inventories = {}
        for provider in draw(
            st.lists(self.provider, min_size=1, max_size=draw(st.sampled_from([1, 3, 30])), unique=True)
        ):
            stock = {name: {"total": draw(amounts)} for name in ("VCPU", *self.classes[:2])}
            marks = {"resource_provider_generation": self._generation(draw, provider)}
            inventories[provider] = {**marks, "inventories": stock}
        consumers = draw(st.lists(self.consumer, max_size=3, unique=True))
        body = {"inventories": inventories, "allocations": {one: self._allocations(draw, 3) for one in consumers}}
        return placement("POST", "/reshaper", body)

    def odd_inventory(self, draw: st.DrawFn) -> Attack:
        stock = self._stock(draw)
        body = {"resource_class": draw(st.sampled_from(self.classes)), "total": 10, **stock}
        return placement("POST", f"/resource_providers/{draw(self.provider)}/inventories", body)

    def odd_name(self, draw: st.DrawFn) -> Attack:
        text = _quoted(draw(texts))
        kind = draw(st.sampled_from(["/traits/", "/resource_classes/", "/allocations/", "/resource_providers/"]))
        return placement(draw(st.sampled_from(["GET", "PUT", "DELETE"])), kind + text)

    def _allocations(self, draw: st.DrawFn, count: int) -> dict[str, Any]:
        names = st.sampled_from(["VCPU", "CUSTOM_GOLD", *self.classes[:5]])
        providers = draw(st.lists(self.provider, max_size=count, unique=True))
        return {
            "allocations": {one: {"resources": {draw(names): draw(amounts)}} for one in providers},
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
            "consumer_generation": draw(st.sampled_from([None, None, 1, 2, 0, -1, 2**64])),
        }

    def _generation(self, draw: st.DrawFn, provider: str) -> int:
        known = self.generations.get(provider, 0)
        return draw(mostly(st.just(known), st.integers(known - 1, known + 5)))

    @staticmethod
    def _stock(draw: st.DrawFn) -> dict[str, Any]:
        fields = draw(mostly(st.just([]), st.lists(st.sampled_from(_STOCK), min_size=1, max_size=3)))
        return {field: draw(mostly(st.just(1), numbers)) for field in fields}
