"""The few names that calls are about, so that calls meet what earlier calls made."""

PROVIDERS = [f"{n:08x}-aaaa-4aaa-8aaa-00000000000{n}" for n in range(1, 9)]
CONSUMERS = [f"{n:08x}-cccc-4ccc-8ccc-00000000000{n}" for n in range(1, 7)]
AGGREGATES = [f"{n:08x}-eeee-4eee-8eee-00000000000{n}" for n in range(1, 5)]
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "CUSTOM_B"]
SHARING = "MISC_SHARES_VIA_AGGREGATE"
TRAITS = ["HW_CPU_X86_VMX", "STORAGE_DISK_SSD", SHARING, "CUSTOM_X", "CUSTOM_Y", "CUSTOM_Z"]
PROJECTS = ["p1", "p2"]
USERS = ["u1", "u2"]
TYPES = ["INSTANCE", "MIGRATION"]
LATEST = 39
