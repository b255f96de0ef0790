/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Give up everything but the channel, the source, and what is in the directory @tree: privileges,
 * other files, the network, other processes, more memory than unpacking needs. The file @source can
 * only be read.
 * Returns: 0, or negative errno.
 */
int unpack_lock(int tree, int source);
