/* Doors of boxes, for test/tool/boxes.c: they are kept by number. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "sandbox/wire.h"

enum { OPENED_MAX = 1024 };

enum warden_door door_named(const char *word);

/* Read the words of `network`; see boxes.c. */
void take_network(char *rest, struct warden_net *net);

/* Takes @fd. Returns: its number. */
int keep_door(int fd);

/* Carry out `door N …`. */
void with_door(char *rest);
