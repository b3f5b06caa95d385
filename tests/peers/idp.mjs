// A real authorization server on loopback, built on npm `oidc-provider`: rotation and replay detection are on.
// usage: node idp.mjs PORT     prints READY, then a line for every grant that was given or refused
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const seconds = Number(process.env.AT_TTL ?? 3600);
const native = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];
const provider = new Provider(issuer, {
  clients: [
    { client_id: 'native', token_endpoint_auth_method: 'none', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], grant_types: native, response_types: ['code'] },
    { client_id: 'secretive', client_secret: 'canary-client-secret-9f3b', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], grant_types: native, response_types: ['code'] },
    { client_id: 'machine', client_secret: 'canary-machine-secret-77aa', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [] },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'api.read', 'api.write'],
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: seconds, ClientCredentials: seconds, RefreshToken: 3600, AuthorizationCode: 60, DeviceCode: 60,
         Interaction: 60, Session: 3600, Grant: 3600, IdToken: 60 },
  features: {
    devInteractions: { enabled: true }, clientCredentials: { enabled: true }, deviceFlow: { enabled: true },
    introspection: { enabled: true }, revocation: { enabled: true }, registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `${issuer}/api`,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: 'api.read api.write', audience: resource, accessTokenTTL: seconds, accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  extraTokenClaims: async (ctx, token) => ({ groups: token.accountId === 'ada' ? ['dev'] : ['ops'] }),
  findAccount: async (ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
  cookies: { keys: ['test-only'] },
});
const say = (word, ctx, more = '') => console.log(word, ctx.oidc?.params?.grant_type ?? '-', more);
provider.on('grant.success', (ctx) => say('GIVEN', ctx));
provider.on('grant.error', (ctx, error) => say('REFUSED', ctx, error.error_description ?? error.message));
provider.on('server_error', (ctx, error) => console.log('BROKEN', error.stack));
provider.listen(port, '127.0.0.1', () => console.log('READY', issuer));
