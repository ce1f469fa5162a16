/* What the emulated GPU is called, by the driver and by the MPS daemon. Of several, the others have
 * another bus, whose last digit is DEVICE_PCI_DIGIT of the text, and another end of the UUID. No
 * machine has the PCI domain, so that the emulated GPU is near no CPU but where a described
 * topology puts it near one. */
#pragma once

#define DEVICE_NAME "mpsweep emulated GPU"
#define DEVICE_UUID_LETTERS "mpsweep-emulated" /* its sixteen bytes */
#define DEVICE_UUID "GPU-6d707377-6565-702d-656d-756c61746564"
#define DEVICE_PCI_BUS_ID "ffff:00:00.0"
#define DEVICE_PCI_DIGIT 6
