"""The same stories of machines with agents, told to a real Ironic and to us, with the same emulator and stub agent."""
