import { existsSync } from 'node:fs';
import { runLogged } from './run-logged.mjs';

const FOLDER = '/etc/postgresql-common/createcluster.d';
const DROP_IN = `${FOLDER}/palyra-setup.conf`;
const SETTING = 'create_main_cluster = false';

/**
 * Debian's PostgreSQL makes and starts a cluster when it is installed. The tests start their own and need only the
 * programs, so its own drop-in says not to, for this installation; afterwards the machine's defaults are back.
 * @template T
 * @param {{ asRoot: string[], log: string, onChild: (pid: number) => void }} how
 * @param {() => Promise<T>} install
 * @returns {Promise<T>}
 */
export async function withoutMainCluster({ asRoot, log, onChild }, install) {
  /** @param {string[]} argv @param {string} [input] */
  const run = (argv, input) =>
    runLogged({
      argv: [...asRoot, ...argv],
      log,
      append: true,
      onChild,
      onSignal: 'finish',
      ...(input === undefined ? {} : { input }),
    });
  const made = ['/etc/postgresql-common', FOLDER].filter((folder) => !existsSync(folder)).reverse();
  await run(['mkdir', '-p', FOLDER]);
  await run(['tee', DROP_IN], `${SETTING}\n`);
  try {
    return await install();
  } finally {
    await run(['rm', '-f', DROP_IN]);
    // Only what was not there before, and only while empty.
    for (const folder of made) await run(['rmdir', '--ignore-fail-on-non-empty', folder]);
  }
}

/**
 * The same for a person who runs the installation: a shell command without single quotes.
 * @param {string} install
 */
export function shellWithoutMainCluster(install) {
  return `mkdir -p ${FOLDER} && echo "${SETTING}" >${DROP_IN} && ${install}; e=$?; rm -f ${DROP_IN}; exit $e`;
}
