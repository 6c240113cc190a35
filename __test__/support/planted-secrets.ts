/**
 * Secrets of all kinds, each in a typical output of a tool. They are generated when they are needed, the same ones in
 * every run: whole ones stand nowhere in the repository, hosting services refuse such pushes.
 */

import { Buffer } from 'node:buffer'
import type { RedactionPattern } from '../../dist/index.js'
import { TOKENS } from './planted-tokens.ts'
import { SeededRandom } from './seeded-random.ts'

/** A secret with the text around it. */
export interface Planted {
  readonly kind: string
  /** What a tool gives: a text, or a value with structure. */
  readonly value: unknown
  /** The value as text. */
  readonly text: string
  /** What must not survive. Of a private key, its lines. */
  readonly secrets: readonly string[]
}

/** A text or a value, and what is secret in it. */
type Plant = readonly [value: unknown, ...secrets: string[]]
type Maker = (random: SeededRandom) => Plant

/** Variables of the environment whose values are planted, and the rules of the caller. */
export interface Surroundings {
  readonly variables: Readonly<Record<string, string>>
  readonly patterns: readonly RedactionPattern[]
}

const around = (value: (secret: string) => unknown, secret: string): Plant => [value(secret), secret]
/** A secret that a person chose, or that a program generated. */
const password =
  (value: (secret: string) => unknown): Maker =>
  (random) =>
    around(value, random.password())
const key =
  (value: (secret: string) => unknown): Maker =>
  (random) =>
    around(value, random.hex(32))
const credential =
  (value: (secret: string) => unknown): Maker =>
  (random) =>
    around(value, random.base64(random.of([30, 42, 48])))

/** Where the tokens of providers stand. */
const SENTENCES: readonly ((token: string) => unknown)[] = [
  (token) => `using ${token} for the upstream call`,
  (token) => `remote: accepted ${token} (fetch)`,
  (token) => `| ci | ${token} | 2025-10-02 |`,
  (token) => ({ nested: { list: ['first', token] } }),
  (token) => `const client = createClient("${token}");`,
]

const PASSWORDS: Readonly<Record<string, Maker>> = {
  'password of an environment file': password((secret) => `HOST=db.corp.net\nDB_PASSWORD=${secret}\nPORT=5432`),
  'exported password': password((secret) => `export ADMIN_PASSWORD='${secret}'`),
  'password of PowerShell': password((secret) => `$env:SMTP_PASSWORD = "${secret}"`),
  'password in YAML': password((secret) => `database:\n  host: db.corp.net\n  password: ${secret}\n  port: 5432`),
  'quoted password in YAML': password((secret) => `smtp:\n  password: "${secret}"`),
  'password in INI': password((secret) => `[client]\nuser = app\npassword = ${secret}\n`),
  'password in properties': password((secret) => `spring.datasource.password=${secret}`),
  'password in XML': password((secret) => `<server><id>corp</id><password>${secret}</password></server>`),
  'password in an attribute': password((secret) => `<add key="SmtpPassword" value="${secret}"/>`),
  'password in a property list': password((secret) => `<key>password</key>\n<string>${secret}</string>`),
  'password in JSON text': password((secret) => `{"user":"app","password":"${secret}"}`),
  'password under its name': password((secret) => ({ user: 'app', password: secret })),
  'password deep down': password((secret) => ({ a: [{ b: { dbPassword: secret, port: 5432 } }] })),
  'password of a named entry': password((secret) => [{ name: 'DB_PASSWORD', value: secret }]),
  'password of a flag in an array': password((secret) => ['mysqldump', '--password', secret]),
  'password in Terraform': password((secret) => `  master_password = "${secret}"`),
  'password in a connection string': password((secret) => `Server=db;User Id=app;Password=${secret};Encrypt=true`),
  'password of ODBC': password((secret) => `Driver={ODBC Driver 18};Server=db;UID=app;PWD=${secret}`),
  'password of JDBC': password((secret) => `jdbc:mysql://db.corp.net:3306/shop?user=app&password=${secret}`),
  'password of libpq': password((secret) => `host=db.corp.net user=app password=${secret} dbname=shop`),
  'password in an address': password((secret) => `DATABASE_URL=postgres://app:${secret}@db.corp.net:5432/shop`),
  'password in an address without a user': password((secret) => `redis://:${secret}@cache.corp.net:6379/0`),
  'password in a remote': password((secret) => `origin\thttps://deploy:${secret}@git.corp.net/team/repo.git (fetch)`),
  'password of a flag': password((secret) => `deploy --host a --password ${secret} --verbose`),
  'password of a flag with a sign': password((secret) => `mysqldump --password=${secret} shop > dump.sql`),
  'password of mysql': password((secret) => `mysql -u root -p${secret} -h db.corp.net shop`),
  'password of curl': password((secret) => `curl -s -u dev:${secret} https://api.corp.net/v1`),
  'password of sshpass': password((secret) => `sshpass -p ${secret} ssh root@10.0.0.5`),
  'password of redis-cli': password((secret) => `redis-cli -h cache.corp.net -a ${secret} ping`),
  'password before a command': password((secret) => `PGPASSWORD=${secret} psql -h db.corp.net -U app`),
  'password through a pipe': password((secret) => `echo ${secret} | docker login -u dev --password-stdin`),
  'password of kubectl': password((secret) => `kubectl create secret generic db --from-literal=password=${secret}`),
  'password in SQL': password((secret) => `CREATE USER 'app'@'%' IDENTIFIED BY '${secret}';`),
  'password of netrc': password((secret) => `machine api.corp.net login dev password ${secret}`),
  'password of netrc on lines': password((secret) => `machine git.corp.net\n  login dev\n  password ${secret}\n`),
  'password of pgpass': password((secret) => `db.corp.net:5432:shop:app:${secret}`),
  'password of pgpass for all': password((secret) => `*:*:*:postgres:${secret}`),
  'password of pypirc': password((secret) => `[pypi]\nusername = dev\npassword = ${secret}`),
}

const KEYS: Readonly<Record<string, Maker>> = {
  'key of an environment dump': key((secret) => `SHELL=/bin/sh\nPAYMENTS_API_KEY=${secret}\nLANG=C.UTF-8`),
  'key under its name': key((secret) => ({ apiKey: secret, region: 'eu' })),
  'key among credentials': key((secret) => ({ credentials: { client: { clientSecret: secret } } })),
  'token in an array of headers': key((secret) => ['X-Api-Key', secret, 'Accept', '*/*']),
  'key in a header': key((secret) => `> GET /v1 HTTP/1.1\n> X-Api-Key: ${secret}\n> Accept: */*`),
  'key in code': key((secret) => `const apiKey: string = '${secret}'`),
  'key as an argument': key((secret) => `client.setHeader("X-Auth-Token", "${secret}")`),
  'key in YAML': key((secret) => `- name: API_TOKEN\n  value: ${secret}`),
  'key in TOML': key((secret) => `[service]\nsecret_key = "${secret}"`),
  'key of a flag': key((secret) => `deploy --token ${secret} app`),
  'key in escaped JSON': key((secret) => `log: {\\"client_secret\\": \\"${secret}\\"}`),
  'key in a query': key((secret) => `GET https://api.corp.net/v2/items?limit=50&api_key=${secret}&page=3 -> 200`),
  'token in a fragment': key((secret) => `https://corp.net/cb#access_token=${secret}&token_type=bearer`),
  'signature of a query': key((secret) => `https://files.corp.net/a.pdf?expires=1767225600&signature=${secret}`),
  'session in a cookie': key((secret) => `Cookie: theme=dark; sessionid=${secret}`),
  'session in Set-Cookie': key((secret) => `Set-Cookie: sid=${secret}; Path=/; HttpOnly`),
  'session under its name': key((secret) => ({ headers: { cookie: `sid=${secret}` } })),
  'token of npmrc': key((secret) => `//registry.corp.net/:_authToken=${secret}`),
  'signature of AWS': (random) =>
    around(
      (secret) => `https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature=${secret}&X-Amz-SignedHeaders=host`,
      random.hex(64),
    ),
  'signature of Google': (random) =>
    around((secret) => `https://storage.googleapis.com/b/o?X-Goog-Signature=${secret}`, random.hex(128)),
  'signature of Azure': (random) =>
    around(
      (secret) => `https://store.blob.core.windows.net/c/f?sv=2024-11-04&sp=r&sig=${secret}%3D`,
      `${random.letters(21)}%2B${random.letters(21)}`,
    ),
  'response of Digest': (random) =>
    around(
      (secret) => `Authorization: Digest username="dev", realm="corp", uri="/", response="${secret}"`,
      random.hex(32),
    ),
}

const CREDENTIALS: Readonly<Record<string, Maker>> = {
  'Basic authorization': (random) => {
    const secret = Buffer.from(`dev:${random.password()}${random.letters(9)}`)
      .toString('base64')
      .replace(/=+$/, '')
    return around((credentials) => `Authorization: Basic ${credentials}`, secret)
  },
  'Bearer authorization': (random) => around((token) => `authorization: Bearer ${token}`, `1${random.letters(39)}`),
  'token authorization in a command': (random) =>
    around((token) => `curl -H 'Authorization: token ${token}' https://api.corp.net`, `7${random.letters(39)}`),
  'authorization of another scheme': credential((secret) => `Proxy-Authorization: Negotiate 9${secret}`),
  'authorization under its name': credential((secret) => ({ headers: { Authorization: `ApiKey ${secret}` } })),
  'Discord token': (random) =>
    around(
      (token) => `client.login("${token}");`,
      `${Buffer.from(random.digits(18)).toString('base64')}.${random.letters(6)}.${random.letters(38)}`,
    ),
  'bearer in a sentence': (random) =>
    around((token) => `got 401 with bearer ${token}, retrying`, `4${random.letters(39)}`),
  'registry of Docker': (random) => {
    const secret = Buffer.from(`dev:${random.password()}${random.letters(9)}`)
      .toString('base64')
      .replace(/=+$/, '')
    return around((auth) => ({ auths: { 'registry.corp.net': { auth } } }), secret)
  },
  'account key of Azure': (random) =>
    around(
      (secret) =>
        `DefaultEndpointsProtocol=https;AccountName=store;AccountKey=${secret}==;EndpointSuffix=core.windows.net`,
      random.letters(86),
    ),
  'shared access key of Azure': credential(
    (secret) => `Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${secret}`,
  ),
  'secret key of AWS': (random) =>
    around((secret) => `[default]\naws_secret_access_key = ${secret}\nregion = eu-west-1`, random.base64(30)),
  'data of a Kubernetes secret': (random) => {
    const secret = Buffer.from(`${random.password()}${random.letters(12)}`)
      .toString('base64')
      .replace(/=+$/, '')
    return around((data) => `kind: Secret\ndata:\n  password: ${data}\n`, secret)
  },
  'JSON web token': (random) => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const [head, body] = [part({ alg: 'HS256', typ: 'JWT' }), part({ sub: random.letters(24), iat: 1_760_000_000 })]
    return around((token) => `session ${token} was refreshed`, `${head}.${body}.${random.letters(43)}`)
  },
}

/** A private key as its lines. */
function privateKey(random: SeededRandom, lines: number): { head: string; body: string[]; tail: string } {
  const kind = `${random.of(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])}PRIVATE KEY`
  const body = Array.from({ length: lines }, () => random.base64(48))
  return { head: `-----BEGIN ${kind}-----`, body: [...body, random.base64(18)], tail: `-----END ${kind}-----` }
}

const PRIVATE_KEYS: Readonly<Record<string, Maker>> = {
  'whole private key': (random) => {
    const { head, body, tail } = privateKey(random, 6)
    return [[head, ...body, tail].join('\n'), ...body]
  },
  'private key on one line': (random) => {
    const { head, body, tail } = privateKey(random, 6)
    return [`TLS_KEY="${[head, ...body, tail].join('\\n')}"`, ...body]
  },
  'private key in JSON': (random) => {
    const { head, body, tail } = privateKey(random, 5)
    return [JSON.stringify({ type: 'service_account', private_key: `${[head, ...body, tail].join('\n')}\n` }), ...body]
  },
  'private key cut short': (random) => {
    const { head, body } = privateKey(random, 5)
    return [`$ cat id_rsa\n${[head, ...body].join('\n')}`, ...body]
  },
  'indented private key': (random) => {
    const { head, body, tail } = privateKey(random, 5)
    return [`tls:\n  key: |\n${[head, ...body, tail].map((line) => `    ${line}`).join('\n')}\n`, ...body]
  },
  'lines of a private key': (random) => {
    const { head, body, tail } = privateKey(random, 4)
    return [[head, ...body, tail], ...body]
  },
}

/** As many as asked for, of all kinds in turn, and what has to be known to find those that have no form. */
export function plantSecrets(count: number, seed: number): Surroundings & { readonly planted: readonly Planted[] } {
  const random = new SeededRandom(seed)
  const variables: Record<string, string> = {}
  const literals: string[] = []
  const tokens = Object.entries(TOKENS).map(([kind, make]): [string, Maker] => [
    kind,
    (random) => around(random.of(SENTENCES), make(random)),
  ])
  const own: [string, Maker][] = [
    [
      'variable of this process',
      (random) => {
        const secret = `${random.letters(9)} ${random.letters(9)}`
        variables[`CANARY_${Object.keys(variables).length}_PASSWORD`] = secret
        return [`the answer was ${secret}, as before`, secret]
      },
    ],
    ['pattern of the caller', (random) => around((secret) => `case ${secret} is open`, `WMB-${random.lowercase(20)}`)],
    [
      'literal of the caller',
      (random) => {
        const secret = `${random.lowercase(8)} ${random.lowercase(8)}`
        literals.push(secret)
        return [`they call it ${secret} here`, secret]
      },
    ],
  ]
  const kinds = [PASSWORDS, KEYS, CREDENTIALS, PRIVATE_KEYS].flatMap((group) => Object.entries(group))
  const makers = [...kinds, ...tokens, ...own]
  const planted = Array.from({ length: count }, (_, index): Planted => {
    const [kind, make] = makers[index % makers.length] as [string, Maker]
    const [value, ...secrets] = make(random)
    return { kind, value, text: typeof value === 'string' ? value : JSON.stringify(value), secrets }
  })
  const patterns: RedactionPattern[] = [
    { name: 'wombat-case', pattern: 'WMB-[0-9a-z]{20}' },
    { name: 'wombat-words', literals },
  ]
  return { planted, variables, patterns }
}
