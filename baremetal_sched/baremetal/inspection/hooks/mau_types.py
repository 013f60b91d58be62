"""What an Ethernet port is, by the numbers that IANA gives to it (dot3MauType, RFC 4836)."""

MAU_TYPES = (
    *("Unknown", "AUI", "10BASE-5", "FOIRL", "10BASE-2", "10BASE-T duplex mode unknown", "10BASE-FP", "10BASE-FB"),
    *("10BASE-FL duplex mode unknown", "10BROAD36", "10BASE-T half duplex", "10BASE-T full duplex"),
    *("10BASE-FL half duplex", "10BASE-FL full duplex", "100 BASE-T4", "100BASE-TX half duplex"),
    *("100BASE-TX full duplex", "100BASE-FX half duplex", "100BASE-FX full duplex", "100BASE-T2 half duplex"),
    *("100BASE-T2 full duplex", "1000BASE-X half duplex", "1000BASE-X full duplex", "1000BASE-LX half duplex"),
    *("1000BASE-LX full duplex", "1000BASE-SX half duplex", "1000BASE-SX full duplex", "1000BASE-CX half duplex"),
    *("1000BASE-CX full duplex", "1000BASE-T half duplex", "1000BASE-T full duplex", "10GBASE-X", "10GBASE-LX4"),
    *("10GBASE-R", "10GBASE-ER", "10GBASE-LR", "10GBASE-SR", "10GBASE-W", "10GBASE-EW", "10GBASE-LW", "10GBASE-SW"),
    *("10GBASE-CX4", "2BASE-TL", "10PASS-TS", "100BASE-BX10D", "100BASE-BX10U", "100BASE-LX10", "1000BASE-BX10D"),
    *("1000BASE-BX10U", "1000BASE-LX10", "1000BASE-PX10D", "1000BASE-PX10U", "1000BASE-PX20D", "1000BASE-PX20U"),
)
