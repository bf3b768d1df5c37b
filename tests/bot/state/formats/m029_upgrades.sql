-- schema 014e01d1397e87be

INSERT INTO upgrades (format, earlier, version, backup, at) VALUES
    (29, 28, '0.2.0', 'backups/commonplace-20261121T120000Z-before-upgrade.tar.gz', '2026-11-21T12:00:00.000+00:00');
