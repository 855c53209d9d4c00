// Where the home is, without the schema of what is in it: the library that reads it takes longer to load than most commands run.
export { ensureHome } from './ensure-home.ts';
export { type Environment, type EnvironmentVariables, readEnvironment } from './environment.ts';
export { defaultHome, type HomeLayout, homeLayout } from './home-layout.ts';
export { nearestName } from './nearest-name.ts';
