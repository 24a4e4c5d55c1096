import { randomInt } from 'node:crypto';
import { conflict, invalidArgument } from '../../base/errors.ts';

/** The rule of the API 1.24 document, with dots after the first character: swarm names its tasks `web.1.<id>`. */
const CONTAINER_NAME = /^\/?[a-zA-Z0-9_-][a-zA-Z0-9_.-]*$/;

/** A container name as clients may give it, without the one leading slash it may have. Throws invalid_argument. */
export function checkName(name: string): string {
  if (!CONTAINER_NAME.test(name)) {
    throw invalidArgument(`Invalid container name (${name}), only [a-zA-Z0-9_-][a-zA-Z0-9_.-]* are allowed`, {
      details: { name },
    });
  }
  return name.startsWith('/') ? name.slice(1) : name;
}

/** The conflict that clients match on when a name is in use. */
export function nameConflict(name: string, ownerId: string): Error {
  return conflict(
    `Conflict. The container name "/${name}" is already in use by container "${ownerId}". ` +
      'You have to remove (or rename) that container to be able to reuse that name.',
  );
}

/** A made-up name that `isTaken` does not know: `brisk_noether`, with a number when luck runs out. */
export function generateName(isTaken: (name: string) => boolean): string {
  for (let attempt = 0; ; attempt += 1) {
    const name = `${pick(adjectives)}_${pick(surnames)}${attempt < 6 ? '' : randomInt(10 ** Math.min(attempt - 4, 9))}`;
    if (!isTaken(name)) {
      return name;
    }
  }
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] ?? 'plain';
}

/** Words of generated container names. Kept as text: a list of words is easier to read and to add to than an array. */
const ADJECTIVES =
  'able agile airy amber ample apt azure balmy bold brave breezy bright brisk calm candid careful ' +
  'chipper civil clear clever coastal cosy crisp curious dapper daring deft dewy diligent earnest ' +
  'easy even fair fearless fleet fluent fond frank fresh gallant genial gentle gifted glad glowing ' +
  'golden graceful hardy hearty honest humble ideal jaunty jolly jovial keen kind lively loyal ' +
  'lucid lucky mellow merry mild mindful modest neat nimble noble open patient placid plucky ' +
  'polite proud prudent quick quiet rapid ready roomy rosy serene sharp shiny silent silver simple ' +
  'smooth snug sober solid spry stable steady stellar still sturdy subtle sunny swift tender ' +
  'thrifty tidy tranquil trusty upbeat valiant vivid warm wise witty worthy zesty';

const SURNAMES =
  'abel agnesi ampere anning apgar arago avogadro banneker barton basov bayes bernoulli bessel ' +
  'biot bolzano boole born bragg cannizzaro carnot cassini cauchy cayley celsius chadwick chandra ' +
  'chatelet church clausius conway copernicus coulomb cramer dalton dedekind descartes dirac ' +
  'dirichlet doppler drake eckert eddington erdos euclid euler fermat fizeau fourier franck ' +
  'fresnel frobenius galois galvani gauss germain gibbs godel gray grothendieck hadamard hahn ' +
  'halley hamilton heaviside helmholtz henry herschel hertz hilbert hooke hubble huygens jacobi ' +
  'joule kepler kirchhoff kovalevsky lagrange lamb langmuir laplace lavoisier leavitt legendre ' +
  'leibniz lie linnaeus liouville lobachevsky lorentz lyell mach markov maxwell mendel michelson ' +
  'minkowski mirzakhani moebius mohs monge nansen napier nernst neumann noether ohm oort ostrom ' +
  'pascal pauling peano pearson peirce planck poisson poncelet priestley ptolemy ramsay rankine ' +
  'rayleigh riemann roemer rubin rydberg salam scheele seaborg shannon siemens somerville steiner ' +
  'stokes strutt sylvester tereshkova thales torricelli turing venn viete volta wallis weber weyl ' +
  'wiener woodward yukawa zermelo zeeman';

const adjectives: readonly string[] = ADJECTIVES.split(' ');
/** Of scientists and mathematicians. */
const surnames: readonly string[] = SURNAMES.split(' ');
