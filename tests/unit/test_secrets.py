"""Secrets do not leave."""

from baremetal_sched.baremetal.node_masking import MASK, mask


def test_keys_that_name_a_secret_are_masked_at_any_depth() -> None:
    document = {"ipmi_password": "x", "user": "u", "deep": {"auth_token": "x", "port": 1}, "redfish_PASSWORD": 5}
    assert mask(document) == {
        "ipmi_password": MASK,
        "user": "u",
        "deep": {"auth_token": MASK, "port": 1},
        "redfish_PASSWORD": MASK,
    }


def test_config_drive_and_image_url_of_an_instance_are_masked() -> None:
    assert mask({"configdrive": "H4sI", "image_url": "http://x?sig=1", "image_source": "i"}, instance=True) == {
        "configdrive": MASK,
        "image_url": MASK,
        "image_source": "i",
    }
    assert mask({"image_url": "http://x"}) == {"image_url": "http://x"}
