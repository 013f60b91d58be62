"""Stars for secrets: what oslo.utils masks is masked, and some more; nothing else is."""

import json
import tracemalloc
from collections import OrderedDict
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oslo_utils import strutils

from baremetal_sched import masking
from baremetal_sched.baremetal import node_masking
from baremetal_sched.db.types import dump_json
from baremetal_sched.masking import MASK
from tests.examples import examples

NAMES = [
    *strutils._SANITIZE_KEYS,
    "adminPass",
    "PASSWORD",
    "to\u212aen",
    "pa\u017f\u017fword",
    "console",
    "user",
    "url",
    "café",
]
GLUE = [
    "=",
    " = ",
    ": ",
    "='",
    '="',
    "': '",
    '" : u"',
    " '",
    "--",
    " --",
    "-x",
    " -",
    "<",
    ">",
    "</",
    "0",
    "12 = ",
    " ",
]
VALUES = ["hunter2", "it's", '"quoted"', "two words", "http://u:p@h/", "@", "://", "\n", "é", "a-b", ","]


def texts() -> st.SearchStrategy[str]:
    """Texts that are made of what the original looks for."""
    parts = st.sampled_from([*NAMES, *GLUE, *VALUES]) | st.text(max_size=3)
    return st.lists(parts, max_size=8).map("".join)


def documents() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts()
    names = st.sampled_from(NAMES) | texts()
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=8
    )


def uncovered(ours: Any, original: Any) -> Any:
    """Where ``ours`` shows something that the original does not; None if it shows no more."""
    if ours in (MASK, original):
        return None
    if isinstance(original, dict) and isinstance(ours, dict) and ours.keys() == original.keys():
        return next(filter(None, (uncovered(ours[name], original[name]) for name in ours)), None)
    if isinstance(original, list | tuple) and isinstance(ours, list) and len(ours) == len(original):
        return next(filter(None, map(uncovered, ours, original)), None)
    if isinstance(original, str) and isinstance(ours, str):
        # Our own rules (URLs, more names, quotes that do not end) mask more of what the original leaves.
        return None if masking.mask_text(original) == ours else (ours, original)
    return (ours, original)


@settings(max_examples=examples(250), deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES) | texts(), documents(), max_size=5))
@example({"a": "password pa\u017f\u017fword-abc x"})
@example({"a": ["x", {"b": ["--password hunter2"]}]})
@example({"to\u212aen": 1})
@example({"a": "the token-abc hunter2"})
@example({"a": "admin_pass='hunter2"})
def test_what_the_original_masks_is_masked(document: dict[str, Any]) -> None:
    original = strutils.mask_dict_password(document, MASK)
    assert uncovered(masking.mask(document), original) is None


@settings(max_examples=examples(250), deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES) | texts(), documents(), max_size=5))
@example({"a": "password=hunter2"})
@example({"a": [[{"PassWord": 1.50}]], "n": 10**30})
def test_a_stored_text_is_masked_like_its_document(document: dict[str, Any]) -> None:
    """However it is looked at: sooner, later, or not at all."""
    text = dump_json(document)
    expected = masking.mask(document)
    assert json.loads(orjson.dumps(node_masking.mask_text(text))) == json.loads(dump_json(expected))
    assert json.loads(orjson.dumps(node_masking.mask_json(text))) == json.loads(dump_json(expected))
    if not masking.mentions_secret(text):
        assert expected == document


def test_documents(subtests: pytest.Subtests) -> None:
    for document, expected in [
        ({"a": [{"password": "x"}, "y"]}, {"a": [{"password": MASK}, "y"]}),
        ({"kernel_append_params": "nofb password=x y"}, {"kernel_append_params": f"nofb password={MASK} y"}),
        ({"snmp_auth_key": "a"}, {"snmp_auth_key": MASK}),
        ({"ipmi_hex_kg_key": "a"}, {"ipmi_hex_kg_key": MASK}),
        ({"b": [{"snmp_priv_key": "c"}]}, {"b": [{"snmp_priv_key": MASK}]}),
        ({"sslkey": 1, "fernetkey": None, "configdrive": {}}, {"sslkey": MASK, "fernetkey": MASK, "configdrive": MASK}),
        ({"password": {"a": 1}}, {"password": MASK}),
        (
            {"settings": [{"name": "AdminPassword", "value": "x"}, {"name": "Boot", "value": "y"}]},
            {"settings": [{"name": "AdminPassword", "value": MASK}, {"name": "Boot", "value": "y"}]},
        ),
    ]:
        with subtests.test(document=document):
            assert masking.mask(document) == expected


def test_texts(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("https://admin:hunter2@host/x", f"https://admin:{MASK}@host/x"),
        ("https://admin:hun@ter/2@host/x", f"https://admin:{MASK}@host/x"),
        ("postgresql://u:p@h1/d,mariadb://v:q@h2/e", f"postgresql://u:{MASK}@h1/d,mariadb://v:{MASK}@h2/e"),
        ("redis://:hunter2@host", f"redis://:{MASK}@host"),
        ("https://ghp_abc@host/x", f"https://{MASK}@host/x"),
        ("ssh://git@host:22/x", "ssh://git@host:22/x"),
        ("http://host:8080/a?b=c@d", "http://host:8080/a?b=c@d"),
        ("http://[::1]:6385/a@b", "http://[::1]:6385/a@b"),
        ("http://host/a:b@c", "http://host/a:b@c"),
        ("http://host:80 is for me@example.com", "http://host:80 is for me@example.com"),
        ("snmp_priv_key = hunter2 x", f"snmp_priv_key = {MASK} x"),
        ("passwd='hunter2'", f"passwd='{MASK}'"),
        ("the password is wrong", "the password is wrong"),
    ]:
        with subtests.test(text=text):
            assert masking.mask_text(text) == expected


def test_other_containers() -> None:
    """The result of a driver may have them, and goes out as JSON."""
    assert masking.mask(OrderedDict(a=({"password": "x"}, "y"))) == {"a": [{"password": MASK}, "y"]}


def test_every_name_is_found_by_a_hint() -> None:
    assert len(masking._HINTS) < len(masking._PARTS)
    for name in masking._NAMES:
        assert masking.mentions_secret(f'{{"x_{name.upper()}":1}}')


def test_a_text_that_takes_too_long_to_search_is_masked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = " ".join(strutils._SANITIZE_KEYS) + "="
    searched = list[str]()
    search = strutils.mask_password
    monkeypatch.setattr(strutils, "mask_password", lambda text, mask: searched.append(text) or search(text, mask))
    masked = masking.mask({"a": [hostile * 10] * 200, "b": "user=x"})
    assert 0 < sum(map(len, searched)) <= masking._BUDGET
    assert len(searched) < 200
    assert masked["a"][-1] == MASK
    assert masked["b"] == "user=x"


def test_a_document_without_secrets_goes_out_as_it_is_kept() -> None:
    text = '{"url":"http://host/a-b","n":1.50,"big":123456789012345678901234567890,"l":["x=y"]}'
    assert orjson.dumps(node_masking.mask_text(text)).decode() == text
    assert orjson.dumps(node_masking.mask_json(text)).decode() == text


def test_names_that_clients_make_up_do_not_fill_the_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(20):
            masking.mask_decoded({f"{number}-{'a' * 10**5}": 1, f"{'password' * 10**4}-{number}": 2}, "")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 10**5
    assert masking.mask({"password" * 100: 1, "a" * 800: 1}) == {"password" * 100: masking.MASK, "a" * 800: 1}


def test_documents_within_texts(subtests: pytest.Subtests) -> None:
    for text, masked in [
        ("{'snmp_community': 'hunter2', 'b': 1}", "{'snmp_community': '******', 'b': 1}"),
        ('{"passwd": "hun\\"ter2"}', "{\"passwd\": '******'}"),
        (
            "[{'op': 'add', 'path': '/driver_info/ipmi_password', 'value': 'hunter2'}]",
            "[{'op': 'add', 'path': '/driver_info/ipmi_password', 'value': '******'}]",
        ),
        (
            "{'path': '/a/password', 'op': 'add', 'value': 'x'}",
            "{'path': '/a/password', 'op': 'add', 'value': '******'}",
        ),
        ("{'value': 'hunter2', 'path': '/a/auth_token'}", "{'value': '******', 'path': '/a/auth_token'}"),
        (
            "{'path': '/extra/a', 'value': 'kept', 'token': 'x'}",
            "{'path': '/extra/a', 'value': 'kept', 'token': '******'}",
        ),
    ]:
        with subtests.test(text=text):
            assert masking.mask_text(text) == masked


def test_names_that_are_whole_words(subtests: pytest.Subtests) -> None:
    for name in [
        *("api_key", "bmc_api_key", "apiKey", "API-Key", "apikey", "x_access_key", "AccessKey", "ssh_key", "sshKey2"),
        *("authorization", "Proxy-Authorization", "cookie", "cookies", "credential", "bmc.credentials", "community"),
        *("psk", "wifi_psk", "hmac", "pwd", "SetupPwd", "pw", "bmc_pw", "pin", "TpmPin", "PIN1", "otp", "ipmi_pass"),
        *("adm_pass2", "admin.pass", "X-PIN"),
    ]:
        with subtests.test(name=name):
            document = {name: "hunter2", "n": [{"name": name, "value": "hunter2"}]}
            assert masking.mask(document) == {name: MASK, "n": [{"name": name, "value": MASK}]}
            text = dump_json(document)
            assert masking.mentions_secret(text)
            assert "hunter2" not in orjson.dumps(node_masking.mask_json(text)).decode()
            assert "hunter2" not in masking.mask_text(f"{name}=hunter2 and {{'{name}': 'hunter2'}}")
            assert "hunter2" not in masking.mask_text(
                f"[{{'path': '/driver_info/{name}', 'op': 'add', 'value': 'hunter2'}}]"
            )


def test_names_that_only_have_such_a_word_within(subtests: pytest.Subtests) -> None:
    for name in [
        *("pinned", "spin", "ping", "opinion", "mapping", "pwm", "pwm_fan", "option", "otpional", "bypass", "compass"),
        *("pass_through", "pass", "communities", "authorizations_of", "hmacs", "accessible_keyboard", "shpin"),
    ]:
        with subtests.test(name=name):
            document = {name: "kept"}
            assert masking.mask(document) == document
            assert masking.mask_text(f"{name}=kept") == f"{name}=kept"
            assert not masking.mentions_secret(json.dumps(document))


def test_headers_in_texts() -> None:
    assert masking.mask_text("sent Authorization: Basic aHVudGVyMg== x") == f"sent Authorization: {MASK}"
    assert masking.mask_text("Cookie: a=hunter2; b=c\nX: y") == f"Cookie: {MASK}\nX: y"
    assert masking.mask_text("the authorization failed: try again") == "the authorization failed: try again"
