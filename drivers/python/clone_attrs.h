/* What the kernel resets in a clone, and a program has set. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clone_attrs {
	int death_signal; /* that comes when its parent ends; 0: none */
	int is_subreaper; /* of processes whose parents have ended */
};

/* clone_attrs_restore() in the clone. Both: only async-signal-safe calls. */
void clone_attrs_save(struct clone_attrs *attrs);
void clone_attrs_restore(const struct clone_attrs *attrs);
