import { join } from 'node:path';
import { CREDENTIAL_PATHS } from './credential-paths.ts';
import { homesOfUser } from './identity-facts.ts';
import { resolvePath, type SurveyFiles } from './survey-files.ts';

/**
 * Places of credentials in the homes of one user, by name and by where they really are. Root gives a tool the user whose workspace it
 * is, and with that the right to read them.
 */
export function ownersCredentials(uid: number, files: SurveyFiles): readonly string[] {
  const places = homesOfUser(uid, files).flatMap((home) => CREDENTIAL_PATHS.map((name) => join(home, name)));
  return [...new Set(places.flatMap((place) => [place, resolvePath(files, place)]))];
}

/** The same of those that are there: a home may be the project itself, and all of it is in the way of nothing. */
export function ownersCredentialsNow(uid: number, files: SurveyFiles): readonly string[] {
  return ownersCredentials(uid, files).filter((place) => files.lstat(place) !== undefined);
}
