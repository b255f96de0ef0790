/* What the kernel resets in a clone, and a program has set. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct traits {
	int death_signal; /* that comes when its parent ends; 0: none */
	int is_subreaper; /* of processes whose parents have ended */
};

/* traits_put_back() in the clone. Both: only async-signal-safe calls. */
void traits_find(struct traits *traits);
void traits_put_back(const struct traits *traits);
