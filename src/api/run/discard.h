/* Large JSON is freed by a thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <uv.h>

/* Release @json, which has about @bytes, like json_decref(); in a thread if it is large, since
 * freeing 64 MiB of small values takes half a second. Parts of @json may still be referenced. @loop
 * NULL: release it at once. */
void discard(uv_loop_t *loop, json_t *json, size_t bytes);
