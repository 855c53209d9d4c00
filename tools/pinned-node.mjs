import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findNode, OLDEST_NODE } from '../apps/cli/bin/pinned-node.mjs';
import { SetupError } from './setup/setup-error.mjs';

/**
 * The Node everything in this checkout runs on; the release finds its own the same way.
 * @param {string} root
 */
export function pinnedNode(root) {
  const node = findNode(pathToFileURL(join(root, 'package.json')).href);
  if (node !== undefined) return node;
  const oldest = OLDEST_NODE.join('.');
  throw new SetupError({
    code: 'setup.node_missing',
    message: `this project runs on Node ${oldest} or newer; this is ${process.versions.node}, and the one npm installs for ${process.platform} ${process.arch} is missing or does not run`,
    fix: `install Node ${oldest} or newer, put it first in PATH and run this again.`,
  });
}
