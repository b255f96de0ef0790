/* Answers on the wire "chat". SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	return fuzz_wire(&wire_chat, data, bytes);
}
