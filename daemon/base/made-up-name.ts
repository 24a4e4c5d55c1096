import { randomInt } from 'node:crypto';

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

/** Words of generated names. Kept as text: a list of words is easier to read and to add to than an array. */
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
