/*
 * Process attributes that the kernel resets in a clone and a program may have set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

struct clone_attrs {
	/* Signal that this process gets when its parent ends (PR_SET_PDEATHSIG); 0: none */
	int death_signal;
	int is_subreaper; /* orphaned descendants become its children (PR_SET_CHILD_SUBREAPER) */
};

/* Save them before the clone, restore them in the clone. Both make only async-signal-safe calls. */
void clone_attrs_save(struct clone_attrs *attrs);
void clone_attrs_restore(const struct clone_attrs *attrs);
