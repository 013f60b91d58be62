"""What is proposed for a name that is not that of a trait."""

import pytest

from baremetal_sched.baremetal.schemas.traits import complaint, is_trait, proposals


def test_proposals(subtests: pytest.Subtests) -> None:
    for name, meant in [
        ("NVME", ["CUSTOM_NVME"]),
        ("nvme-ssd v1", ["CUSTOM_NVME_SSD_V1"]),
        ("custom_nvme", ["CUSTOM_NVME"]),
        ("CUSTOM_NVME\n", ["CUSTOM_NVME"]),
        ("hw_cpu_x86_avx2", ["HW_CPU_X86_AVX2"]),
        ("AVX2", ["CUSTOM_AVX2", "HW_CPU_X86_AVX2"]),
        ("STORAGE_DISC_SSD", ["STORAGE_DISK_SSD", "STORAGE_DISK_HDD", "CUSTOM_STORAGE_DISC_SSD"]),
        ("CUSTOM_", []),
        ("!", []),
        ("é", []),
        ("x" * 250, []),
    ]:
        with subtests.test(name=name):
            assert proposals(name) == meant
            assert all(is_trait(trait) for trait in meant)


def test_a_complaint_is_a_sentence() -> None:
    assert complaint("NVME") == (
        "'NVME' is not a valid trait. Did you mean CUSTOM_NVME? It is not one of os-traits, and does not match "
        "'^CUSTOM_[A-Z0-9_]+$'."
    )
    assert "Did you mean STORAGE_DISK_SSD or STORAGE_DISK_HDD or" in complaint("STORAGE_DISC_SSD")
    assert "mean" not in complaint("!")
