import { isAbsolute, join, normalize, parse } from 'node:path';
import { visibleText } from '@palyra/primitives';
import { ConfigError } from './config-error.ts';

/** Everything Palyra keeps on this machine. Absolute paths; whether they exist is another question. */
export interface HomeLayout {
  readonly root: string;
  readonly configFile: string;
  readonly policies: string;
  readonly database: string;
  /** What was said, beside the journal that commits to it. */
  readonly bodies: string;
  readonly identity: string;
  readonly vault: string;
  readonly skills: string;
  readonly modules: string;
}

/** Throws `config.invalid_home`. */
export function homeLayout(root: string): HomeLayout {
  const home = checkHomePath(root);
  return Object.freeze({
    root: home,
    configFile: join(home, 'palyra.toml'),
    policies: join(home, 'policies'),
    database: join(home, 'palyra.db'),
    bodies: join(home, 'bodies'),
    identity: join(home, 'identity'),
    vault: join(home, 'vault'),
    skills: join(home, 'skills'),
    modules: join(home, 'modules'),
  });
}

/** The default, `~/.palyra`. */
export function defaultHome(userHome: string): string {
  return join(userHome, '.palyra');
}

/** A path that means the same from every directory and to every program that reads it. Throws `config.invalid_home`. */
export function checkHomePath(path: string): string {
  if (!isAbsolute(path)) throw invalid(path, 'is not an absolute path', 'Give a path that starts with /.');
  if (path.includes('\0')) throw invalid(path, 'holds a NUL character', 'Give a path without it.');
  // `a/../b` is not `b` when `a` is a link, so what is checked would not be what is opened.
  if (path.split(/[/\\]/).includes('..')) throw invalid(path, 'holds ".."', 'Give the path it leads to.');

  const normal = normalize(path);
  const { root } = parse(normal);
  if (normal === root) throw invalid(path, 'is the root of the file system', 'Give a directory of its own.');
  return normal.replace(/[/\\]+$/, '');
}

function invalid(path: string, sentence: string, fix: string): ConfigError {
  return new ConfigError('config.invalid_home', `"${visibleText(path)}" ${sentence}.`, { fix });
}
