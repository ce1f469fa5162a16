/* Numbers for the driver's entry points, made from the table of device/cuda_abi.h. */
#pragma once

#include "device/cuda_abi.h"

#define ENTRY_NUMBER(field, symbol, version, need, parameters) ENTRY_##field,
enum entry { CUDA_DRIVER_SYMBOLS(ENTRY_NUMBER) ENTRY_COUNT };
