mod asking;
mod caching;
mod cancelling;
mod redacting;
mod rendering;
mod support;
mod walking;
