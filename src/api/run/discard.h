/* Large JSON is freed by a thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <uv.h>

/*
 * As json_decref() of a value of about @bytes; its last holder takes half a second to free 64 MiB
 * of small parts. Others may hold parts of it. @loop: NULL to have it done at once.
 */
void discard(uv_loop_t *loop, json_t *json, size_t bytes);
