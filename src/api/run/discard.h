/* Free large JSON in a thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <uv.h>

/*
 * Release a reference of @json, as json_decref() does.
 * Freeing 64 MiB of small values takes half a second. So a thread does it if @bytes, the
 * approximate size of @json, is large. @loop NULL: use no thread. Parts of @json may still be in
 * use elsewhere.
 */
void discard(uv_loop_t *loop, json_t *json, size_t bytes);
