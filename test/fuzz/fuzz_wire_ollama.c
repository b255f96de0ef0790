/* Answers on the wire "ollama". SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	return fuzz_wire(&wire_ollama, data, bytes);
}
