/* A registry without boxes, for tests of what stands above it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "registry/history.h"
#include "registry/registry.h"
#include "registry/trial.h"

#include <uv.h>

/*
 * Sessions s-1, s-2, … and steps 1000…, 2000…; code is lines of
 *
 *   NAME = NUMBER    sets a variable         NAME         is the value
 *   print TEXT       writes to stdout        warn TEXT    to stderr
 *   flood N          N KiB to stdout         split        a character in two pieces
 *   show             a display               save PATH    makes a file
 *   wait             until interrupted       anything else is an error
 *
 * A step takes one turn of @loop, or none without one.
 */
struct registry *fake_registry_new(uv_loop_t *loop);
void fake_registry_free(struct registry *r);
