"""The same story of Redfish machines, told to a real Ironic and to us, with systems of the same emulator."""
